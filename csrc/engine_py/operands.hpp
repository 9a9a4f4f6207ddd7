// Operands from Python: tensors, or numbers that take part in one operation.
#pragma once

#include "engine/integers.hpp"
#include "engine_py/args.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {

inline Tensor tensor_or_number(const Args& args, size_t i) {
  Scalar number;
  return parse_number(args[i], &number) ? ops::wrapped_number(number) : args.tensor(i);
}

// The same for an operand of an operator. Empty: it is neither.
inline Tensor operand_of(PyObject* object) {
  Scalar number;
  if (is_tensor(object)) return unwrap(object);
  return parse_number(object, &number) ? ops::wrapped_number(number) : Tensor();
}

// A number on either side leaves a node of its own.
inline Tensor remainder_of(const Tensor& a, const Tensor& b, bool in_place = false) {
  if (b->is_wrapped_number()) return ops::remainder_number(a, ops::item(b), in_place);
  return a->is_wrapped_number() ? ops::number_remainder(ops::item(a), b) : ops::remainder(a, b, in_place);
}

}  // namespace gradlife
