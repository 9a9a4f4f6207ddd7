// The census of native objects for Python.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// native_census() -> ([(class, family, count, bytes), ...], [(device, count, bytes), ...], heaps that were lost, bytes
// read, CPU seconds)
PyObject* native_census(PyObject* module, PyObject* unused);
// native_counts(is_alone) -> ({family: count}, bytes of storages' contents, lost heaps). is_alone: in a forked copy
// that has no other thread.
PyObject* native_counts(PyObject* module, PyObject* is_alone);
// native_objects(class) -> [address, ...], ascending
PyObject* native_objects(PyObject* module, PyObject* name);
// native_blocks() -> bytes: blocks that may be objects now, to find new ones later
PyObject* native_blocks(PyObject* module, PyObject* unused);
// native_since(earlier bytes) -> (bytes of now, [(address, family), ...]): new tensors and grad nodes
PyObject* native_since(PyObject* module, PyObject* before);

}  // namespace gradlife::heap
