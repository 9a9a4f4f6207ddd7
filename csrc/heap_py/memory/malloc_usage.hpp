// The bytes that malloc and Python's own allocator have handed out, and what they keep for reuse.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

PyObject* malloc_bytes(PyObject* module, PyObject*);  // in all its heaps; None if the C library does not report it

// allocator_bytes() -> (malloc's blocks, malloc's free memory, small Python objects, free memory for these); -1:
// unknown
PyObject* allocator_bytes(PyObject* module, PyObject*);

}  // namespace gradlife::heap
