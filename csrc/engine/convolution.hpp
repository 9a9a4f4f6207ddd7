// Convolution in any number of dimensions: what it is given besides tensors, and the loops of its three products.
#pragma once

#include "engine/kernels.hpp"
#include "engine/tensor.hpp"

namespace gradlife::ops {

struct ConvolutionSettings {
  Dims stride, padding, dilation;  // one number for each dimension of space
  bool transposed = false;
  Dims output_padding;
  int64_t groups = 1;
};

// `a`: (batch, channels, space...); `weight`: (to, from / groups, space...), transposed (from, to / groups, space...).
// `bias`: one number for each channel of the result, undefined for none. Errors: shapes that do not go together.
Tensor convolution(const Tensor& a, const Tensor& weight, const Tensor& bias, const ConvolutionSettings& how);

struct ConvolutionGradients {
  Tensor input, weight, bias;
};
struct WantedGradients {
  bool input, weight, bias;
};
// Differentiable itself. What is not wanted stays undefined.
ConvolutionGradients convolution_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                                          const ConvolutionSettings& how, const WantedGradients& wanted);

}  // namespace gradlife::ops

namespace gradlife::kernels {

// Which elements meet in a convolution: place `at` of the wide side, element k of the weight and place o of the narrow
// side do where at = o * stride - padding + k * dilation.
struct Meeting {
  Dims wide;    // (batch, groups * from, space...)
  Dims weight;  // (groups * to, from, space...)
  Dims narrow;  // (batch, groups * to, space...)
  Dims stride, padding, dilation;
  int64_t groups;
};

// All contiguous, of one dtype, and the first one filled already; the products are added to it.
void add_narrow(const Meeting& meeting, const Tensor& narrow, const Tensor& wide, const Tensor& weight);
void add_wide(const Meeting& meeting, const Tensor& wide, const Tensor& narrow, const Tensor& weight);
void add_weight(const Meeting& meeting, const Tensor& weight, const Tensor& wide, const Tensor& narrow);

}  // namespace gradlife::kernels
