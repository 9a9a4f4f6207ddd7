// The bytes that malloc has handed out.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

PyObject* malloc_bytes(PyObject* module, PyObject*);  // in all its heaps; None if the C library does not report it

}  // namespace gradlife::heap
