// What layers of networks compute: products with weights, rows of tables, normalisation.
#pragma once

#include "engine/scalar.hpp"
#include "engine/tensor.hpp"

namespace gradlife::ops {

// a weightᵀ + bias along the last dimension. `bias`: undefined for none.
Tensor linear(const Tensor& a, const Tensor& weight, const Tensor& bias);
// Rows of `weight` by number. The row `padding` gets no gradient (-1: every one does). IndexError: no such row.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding);
// Over the last dimensions, which are `sizes`: mean 0 and variance 1, then times `weight` plus `bias` where given.
Tensor layer_norm(const Tensor& a, const Dims& sizes, const Tensor& weight, const Tensor& bias, double epsilon);

// What `batch_norm` takes besides its input, each undefined for none: one number for each channel.
struct BatchNormTensors {
  Tensor running_mean, running_var, weight, bias;
};
// Each channel (dimension 1) gets mean 0 and variance 1, then times `weight` plus `bias`: in training by its own
// moments, towards which the running ones move by `momentum`, else by the running ones.
Tensor batch_norm(const Tensor& a, const BatchNormTensors& given, bool training, double momentum, double epsilon);

}  // namespace gradlife::ops
