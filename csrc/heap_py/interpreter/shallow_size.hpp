// Bytes of single objects, without calling __sizeof__: that of a user's type is user code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace gradlife::heap {

// Sizes of the instances of one type; what they depend on is computed once. The object, its header, and what it alone
// owns beside it (a list's items, a dict's table, inline attributes).
class ShallowSize {
 public:
  explicit ShallowSize(PyTypeObject* type);
  bool is_even() const { return is_even_; }  // all have the same: `of` does not look at them
  uint64_t of(PyObject* object) const;

 private:
  enum class Kind : uint8_t { plain, text, number, dict, list, set, bytes };
  static Kind kind_of(PyTypeObject* type);
  uint64_t outside_bytes(PyObject* object) const;

  PyTypeObject* type_;
  uint64_t bytes_;
  Kind kind_;
  bool is_even_, asks_for_header_, has_inline_;
};

}  // namespace gradlife::heap
