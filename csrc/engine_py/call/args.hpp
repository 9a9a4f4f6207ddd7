// Reads the arguments of a call, by position or name, with PyTorch's error messages.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>

#include "base/pyref.hpp"
#include "engine/tensor/scalar.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

using FastMethod = PyObject* (*)(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names);

inline PyCFunction as_method(FastMethod function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// The arguments of one call, matched with its parameter names. All are borrowed from the caller.
class Args {
 public:
  // TypeError: too many arguments, an unknown name, one given twice, fewer than `required`.
  Args(const char* function, std::initializer_list<const char*> parameters, size_t required, PyObject* const* arguments,
       Py_ssize_t count, PyObject* names);

  PyObject* operator[](size_t i) const { return values_[i]; }  // nullptr: not given
  bool has(size_t i) const { return values_[i] != nullptr && values_[i] != Py_None; }

  // With a default for an argument that is missing or None. TypeError in PyTorch's words.
  int64_t integer(size_t i, int64_t fallback) const;
  double real(size_t i, double fallback) const;
  bool flag(size_t i, bool fallback) const;
  Scalar number(size_t i, const Scalar& fallback) const;
  DType dtype(size_t i, DType fallback) const;
  Dims dims(size_t i) const;
  const Tensor& tensor(size_t i) const;
  TensorList tensors(size_t i) const;
  void require_cpu(size_t i) const;
  [[noreturn]] void wrong_type(size_t i, const char* expected) const;

 private:
  static constexpr size_t capacity = 9;
  const char* function_;
  std::array<const char*, capacity> parameters_{};
  std::array<PyObject*, capacity> values_{};
  size_t count_ = 0;
};

inline std::optional<int64_t> optional_integer(const Args& args, size_t i) {
  return args.has(i) ? std::optional<int64_t>(args.integer(i, 0)) : std::nullopt;
}

// Reads a Python or numpy number. False: not a number. Error: larger than 64 bits.
bool parse_number(PyObject* object, Scalar* number);
bool is_sequence(PyObject* object);        // a list or tuple
const char* short_name(PyObject* object);  // of its class
// `view(2, 3)` and `view((2, 3))`.
Dims parse_sizes(PyObject* const* arguments, Py_ssize_t count);
bool is_numpy_scalar(PyObject* object);

Ref wrap_scalar(const Scalar& scalar);
Ref wrap_tuple(const TensorList& tensors);

}  // namespace gradlife
