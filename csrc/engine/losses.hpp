// Losses: one number for each pair of elements, or their sum or mean.
#pragma once

#include "engine/scalar.hpp"
#include "engine/tensor.hpp"

namespace gradlife::ops {

enum class Averaging : uint8_t { none, mean, sum };  // numbered as in PyTorch's `_saved_reduction`

Tensor mse_loss(const Tensor& a, const Tensor& target, Averaging averaging);
Tensor smooth_l1_loss(const Tensor& a, const Tensor& target, Averaging averaging, double beta);
Tensor huber_loss(const Tensor& a, const Tensor& target, Averaging averaging, double delta);
// `weight`, `pos_weight`: undefined for none.
Tensor binary_cross_entropy(const Tensor& a, const Tensor& target, const Tensor& weight, Averaging averaging);
Tensor binary_cross_entropy_with_logits(const Tensor& a, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, Averaging averaging);
// Of log-probabilities by class, in one row or a batch of rows. IndexError: a target that is no class.
Tensor nll_loss(const Tensor& a, const Tensor& target, const Tensor& weight, Averaging averaging, int64_t ignored);

}  // namespace gradlife::ops
