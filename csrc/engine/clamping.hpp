// Keeping elements between bounds, and rounding them.
#pragma once

#include <optional>

#include "engine/ops.hpp"

namespace gradlife::ops {

// Where the bounds cross, the upper one holds. Errors: no bound.
using OptionalNumber = std::optional<Scalar>;
Tensor clamp(const Tensor& a, const OptionalNumber& min, const OptionalNumber& max);
Tensor clamp(const Tensor& a, const Tensor& min, const Tensor& max);  // one may be empty
Tensor clamp_min(const Tensor& a, const Scalar& min);
Tensor clamp_min(const Tensor& a, const Tensor& min);
Tensor clamp_max(const Tensor& a, const Scalar& max);
Tensor clamp_max(const Tensor& a, const Tensor& max);
Tensor clamp_in_place(const Tensor& target, const OptionalNumber& min, const OptionalNumber& max);
Tensor clamp_in_place(const Tensor& target, const Tensor& min, const Tensor& max);
Tensor clamp_min_in_place(const Tensor& target, const Scalar& min);
Tensor clamp_min_in_place(const Tensor& target, const Tensor& min);
Tensor clamp_max_in_place(const Tensor& target, const Scalar& max);
Tensor clamp_max_in_place(const Tensor& target, const Tensor& max);

// Halves go to the even neighbour. Integers stay as they are.
enum class Rounding : uint8_t { floor, ceil, round, trunc, frac, sign };
Tensor rounded(Rounding how, const Tensor& a);
Tensor sgn_in_place(const Tensor& target);
Tensor rounded_in_place(Rounding how, const Tensor& target);
Tensor round_to(const Tensor& a, int64_t decimals);
Tensor round_to_in_place(const Tensor& target, int64_t decimals);

// What an element is: bool tensors.
enum class Class : uint8_t { nan, infinite, finite, positive_infinite, negative_infinite };
Tensor is_of_class(Class which, const Tensor& a);
Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan);

}  // namespace gradlife::ops
