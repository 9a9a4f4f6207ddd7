// Element-wise functions of two and three tensors, with broadcasting.
#pragma once

#include "engine/scalar.hpp"
#include "engine/tensor.hpp"

namespace gradlife::ops {

Tensor atan2(const Tensor& a, const Tensor& b);
Tensor hypot(const Tensor& a, const Tensor& b);
Tensor logaddexp(const Tensor& a, const Tensor& b);
Tensor xlogy(const Tensor& a, const Tensor& b);  // a log(b), and 0 where a is 0
Tensor atan2_in_place(const Tensor& target, const Tensor& other);
Tensor hypot_in_place(const Tensor& target, const Tensor& other);
Tensor xlogy_in_place(const Tensor& target, const Tensor& other);

Tensor lerp(const Tensor& a, const Tensor& end, const Scalar& weight);
Tensor lerp(const Tensor& a, const Tensor& end, const Tensor& weight);
Tensor lerp_in_place(const Tensor& target, const Tensor& end, const Scalar& weight);
Tensor lerp_in_place(const Tensor& target, const Tensor& end, const Tensor& weight);
// a + value b c, a + value b / c
Tensor addcmul(const Tensor& a, const Tensor& b, const Tensor& c, const Scalar& value);
Tensor addcdiv(const Tensor& a, const Tensor& b, const Tensor& c, const Scalar& value);
Tensor addcmul_in_place(const Tensor& target, const Tensor& b, const Tensor& c, const Scalar& value);
Tensor addcdiv_in_place(const Tensor& target, const Tensor& b, const Tensor& c, const Scalar& value);

}  // namespace gradlife::ops
