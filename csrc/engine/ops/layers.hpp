// Operations of network layers: products with weights, rows of tables, normalisation.
#pragma once

#include "engine/tensor/scalar.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife::ops {

// a weightᵀ + bias along the last dimension. `bias`: undefined for none.
Tensor linear(const Tensor& a, const Tensor& weight, const Tensor& bias);

// The per-channel parameters of `batch_norm`; undefined: none.
struct BatchNormTensors {
  Tensor running_mean, running_var, weight, bias;
};
// Normalises each channel (dimension 1) to mean 0 and variance 1, then applies `weight` and `bias`. In training it uses
// the batch's moments and moves the running ones towards them by `momentum`; otherwise it uses the running ones.
Tensor batch_norm(const Tensor& a, const BatchNormTensors& given, bool training, double momentum, double epsilon);

// Elements above `threshold`, `value` elsewhere.
Tensor threshold(const Tensor& a, const Scalar& threshold, const Scalar& value);

enum class Averaging : uint8_t { none, mean, sum };  // numbered as in PyTorch's `_saved_reduction`

// The negative log-likelihood of a row of log-probabilities, or of a batch. IndexError if a target is not a class.
Tensor nll_loss(const Tensor& a, const Tensor& target, const Tensor& weight, Averaging averaging, int64_t ignored);

}  // namespace gradlife::ops
