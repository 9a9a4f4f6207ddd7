// The census of native objects as Python gets it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// native_census() -> ([(class, family, count, bytes), ...], [(device, count, bytes), ...], heaps that were lost, bytes
// read, CPU seconds)
PyObject* native_census(PyObject* module, PyObject* unused);
// native_objects(class) -> [address, ...], ascending
PyObject* native_objects(PyObject* module, PyObject* name);
// native_blocks() -> bytes: what may be objects now, to be asked for what is new
PyObject* native_blocks(PyObject* module, PyObject* unused);
// native_since(bytes of earlier) -> (bytes of now, [(address, family), ...]): tensors and grad nodes that are new
PyObject* native_since(PyObject* module, PyObject* before);

}  // namespace gradlife::heap
