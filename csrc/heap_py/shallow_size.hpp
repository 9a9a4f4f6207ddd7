// Bytes of single objects, without calling __sizeof__: that of a user's type is user code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace gradlife::heap {

// The object, its header, and what it alone owns beside it (a list's items, a dict's table, inline attributes).
uint64_t shallow_bytes(PyObject* object);
// The same of every instance of a type; 0: they differ.
uint64_t shallow_bytes_of_each(PyTypeObject* type);

}  // namespace gradlife::heap
