// Arithmetic that is about whole numbers and bits. Divisions are defined for floats too.
#pragma once

#include "engine/changing.hpp"
#include "engine/ops.hpp"

namespace gradlife::ops {

// Quotients rounded to whole numbers, and what they leave. Errors: an integer divided by zero.
enum class Rounding : uint8_t { floor, truncate };
Tensor div_rounded(const Tensor& a, const Tensor& b, Rounding rounding, bool in_place = false);
Tensor div_unrounded(const Tensor& a, const Tensor& b, bool in_place = false);  // asked for by rounding_mode=None
Tensor floor_divide(const Tensor& a, const Tensor& b, bool in_place = false);   // has no derivative
Tensor remainder(const Tensor& a, const Tensor& b, bool in_place = false);      // has the divisor's sign
Tensor fmod(const Tensor& a, const Tensor& b, bool in_place = false);           // has the dividend's sign
Tensor remainder_number(const Tensor& a, const Scalar& b, bool in_place = false);
Tensor fmod_number(const Tensor& a, const Scalar& b, bool in_place = false);
Tensor number_remainder(const Scalar& a, const Tensor& b);  // has no derivative

// Bit by bit, of integers and bools. Errors: floats.
enum class Bitwise : uint8_t { conjunction, disjunction, exclusion, left_shift, right_shift };
Tensor bitwise(Bitwise operation, const Tensor& a, const Tensor& b, bool in_place = false);
Tensor bitwise_not(const Tensor& a, bool in_place = false);

// Of truth values, of which every dtype has two.
enum class Logical : uint8_t { conjunction, disjunction, exclusion };
Tensor logical(Logical operation, const Tensor& a, const Tensor& b, bool in_place = false);
Tensor logical_not_in_place(const Tensor& target);

}  // namespace gradlife::ops
