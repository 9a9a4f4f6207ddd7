// Which shapes go together in a convolution, and what comes of them.
#pragma once

#include "engine/convolution.hpp"

namespace gradlife::ops {

// The shape of the result. Errors: the kernel does not fit, or less than nothing would come out.
Dims output_sizes(const Dims& input, const Dims& weight, const ConvolutionSettings& how);
void check_convolution(const Tensor& a, const Tensor& weight, const Tensor& bias, const ConvolutionSettings& how);

}  // namespace gradlife::ops
