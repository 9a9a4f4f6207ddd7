// Activations with parameters. Each is a small struct of its parameters that says how to compute the value, how a
// gradient passes, and what the second derivative is; `activate` and `activate_in_place` do the rest.
#pragma once

#include "engine/scalar.hpp"
#include "engine/tensor.hpp"

namespace gradlife::ops {

Tensor softplus(const Tensor& a, const Scalar& beta, const Scalar& threshold);
Tensor elu(const Tensor& a, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale);
Tensor elu_in_place(const Tensor& target, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale);
Tensor celu(const Tensor& a, const Scalar& alpha);
Tensor celu_in_place(const Tensor& target, const Scalar& alpha);
Tensor leaky_relu(const Tensor& a, const Scalar& slope);
Tensor leaky_relu_in_place(const Tensor& target, const Scalar& slope);
Tensor hardtanh(const Tensor& a, const Scalar& low, const Scalar& high);
Tensor hardtanh_in_place(const Tensor& target, const Scalar& low, const Scalar& high);
Tensor threshold(const Tensor& a, const Scalar& threshold, const Scalar& value);
Tensor threshold_in_place(const Tensor& target, const Scalar& threshold, const Scalar& value);
Tensor hardshrink(const Tensor& a, const Scalar& width);
Tensor softshrink(const Tensor& a, const Scalar& width);
Tensor hardswish(const Tensor& a);
Tensor hardswish_in_place(const Tensor& target);
Tensor gelu(const Tensor& a, bool by_tanh);
Tensor log_sigmoid(const Tensor& a);
Tensor logit(const Tensor& a, const Scalar* margin);  // margin: inputs are kept within [margin, 1 - margin]
Tensor logit_in_place(const Tensor& target, const Scalar* margin);

}  // namespace gradlife::ops
