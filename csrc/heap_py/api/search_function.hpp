// Runs one pass of the native scan's search, to compare its time with that of only reading the same memory.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// search_memory(addresses or None) -> (bytes read, words found, CPU seconds); None: memory is only read.
PyObject* search_memory(PyObject* module, PyObject* addresses);

// malloc_cache_key() -> int; 0: malloc has no cache
PyObject* malloc_cache_key(PyObject* module, PyObject*);

}  // namespace gradlife::heap
