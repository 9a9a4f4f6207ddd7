// Tells whether there is a Python object at an address.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>

#include "heap_py/memory/memory_reader.hpp"

namespace gradlife::heap {

// A Python object has a type, whose own type is a type.
template <class Reader>
bool is_object_at(const Reader& reader, Address address) {
  uint64_t type, metatype, flags;
  if (!looks_like_pointer(address) || !reader.read_word(address + offsetof(PyObject, ob_type), &type)) return false;
  if (!looks_like_pointer(type) || !reader.read_word(type + offsetof(PyObject, ob_type), &metatype)) return false;
  if (metatype == reinterpret_cast<uintptr_t>(&PyType_Type)) return true;
  return looks_like_pointer(metatype) && reader.read_word(metatype + offsetof(PyTypeObject, tp_flags), &flags) &&
         (flags & Py_TPFLAGS_TYPE_SUBCLASS) != 0;
}

}  // namespace gradlife::heap
