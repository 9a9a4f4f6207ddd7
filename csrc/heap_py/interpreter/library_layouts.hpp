// The fields of classes of the standard library that own memory outside themselves, and that no header declares.
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

struct NumberArray {  // array.array
  PyObject_VAR_HEAD char* items;
  Py_ssize_t room;  // in items
  const struct {
    char letter;
    int item_bytes;
  }* items_type;
};

struct ForeignData {  // the base of all data of ctypes
  PyObject_HEAD char* data;
  int owns_data;
  PyObject* base;
  Py_ssize_t bytes;
};

struct DequeBlock {
  static constexpr Py_ssize_t room = 64;
  void *left, *items[room], *right;
};

struct Deque {
  PyObject_VAR_HEAD DequeBlock *first, *last;
  Py_ssize_t first_item, last_item;  // in their blocks
};

// Whether the type is a class of C code. No class of a program is immutable.
inline bool is_static(const PyTypeObject* type) { return (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0; }

// Whether the type is a class of C code or derives from it.
inline bool is_derived(const PyTypeObject* type, const char* name) {
  for (; type != nullptr; type = type->tp_base)
    if (is_static(type) && std::strcmp(type->tp_name, name) == 0) return true;
  return false;
}

inline bool is_byte_file(const PyTypeObject* type) { return is_derived(type, "_io.BytesIO"); }
inline bool is_deque(const PyTypeObject* type) { return is_derived(type, "collections.deque"); }
inline bool is_foreign_data(const PyTypeObject* type) { return is_derived(type, "_ctypes._CData"); }
inline bool is_number_array(const PyTypeObject* type) { return is_derived(type, "array.array"); }
inline bool is_text_file(const PyTypeObject* type) { return is_derived(type, "_io.StringIO"); }

}  // namespace gradlife::heap
