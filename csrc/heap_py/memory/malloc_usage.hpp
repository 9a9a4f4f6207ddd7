// The bytes that malloc has given out.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

PyObject* malloc_bytes(PyObject* module, PyObject*);  // of all its heaps; None where the C library does not tell

}  // namespace gradlife::heap
