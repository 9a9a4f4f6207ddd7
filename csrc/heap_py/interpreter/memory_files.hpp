// The first fields of io.BytesIO and io.StringIO, which no header declares.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>

namespace gradlife::heap {

struct ByteFile {
  PyObject_HEAD PyObject* content;
  Py_ssize_t position, length;
};

struct TextFile {
  PyObject_HEAD Py_UCS4* letters;
  Py_ssize_t position, length;
  size_t room;
  int state;
  PyObject *large, *small;  // lists of texts before Python 3.12; then something else
};

// Whether the type is a class of C code or derives from it. No class of a program is immutable.
inline bool is_derived(const PyTypeObject* type, const char* name) {
  for (; type != nullptr; type = type->tp_base)
    if ((type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0 && std::strcmp(type->tp_name, name) == 0) return true;
  return false;
}

inline bool is_byte_file(const PyTypeObject* type) { return is_derived(type, "_io.BytesIO"); }
inline bool is_text_file(const PyTypeObject* type) { return is_derived(type, "_io.StringIO"); }

}  // namespace gradlife::heap
