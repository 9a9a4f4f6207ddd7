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

}  // namespace gradlife::ops
