// Which objects have the fields of a dict.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// Whether instances have the fields of a dict: a frozendict, from Python 3.15 on, is no subclass of it.
inline bool is_dict_type(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030f0000
  if (PyType_IsSubtype(type, &PyFrozenDict_Type) != 0) return true;
#endif
  return (type->tp_flags & Py_TPFLAGS_DICT_SUBCLASS) != 0;
}

inline bool is_dict(PyObject* object) { return is_dict_type(Py_TYPE(object)); }

}  // namespace gradlife::heap
