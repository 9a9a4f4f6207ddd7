// Bytes of single objects, without calling __sizeof__, which would run user code for a user's type.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace gradlife::heap {

// Sizes of the instances of one type, with per-type values computed once: the object, its header, and what only it owns
// outside itself (a list's items, a dict's table, inline attributes).
class ShallowSize {
 public:
  explicit ShallowSize(PyTypeObject* type);
  bool is_even() const { return is_even_; }  // all instances have the same size: `of` does not read them
  uint64_t of(PyObject* object) const;

 private:
  enum class Kind : uint8_t {
    plain,
    text,
    number,
    dict,
    list,
    set,
    bytes,
    byte_file,
    text_file,
    deque,
    foreign_data,
    number_array
  };
  static Kind kind_of(PyTypeObject* type);
  uint64_t outside_bytes(PyObject* object) const;

  PyTypeObject* type_;
  uint64_t bytes_;
  Kind kind_;
  bool is_even_, asks_for_header_, has_inline_;
};

}  // namespace gradlife::heap
