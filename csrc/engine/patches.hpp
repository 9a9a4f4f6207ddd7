// Pictures as columns of their patches and back, and borders around tensors.
#pragma once

#include "engine/scalar.hpp"
#include "engine/tensor.hpp"

namespace gradlife::ops {

// Two numbers each, for height and width.
struct PatchSettings {
  Dims kernel_size, dilation, padding, stride;
};

// (batch, channels, height, width) -> (batch, channels * kernel, patches). The batch may be left out. Errors: no patch
// fits.
Tensor patches_of(const Tensor& a, const PatchSettings& how);
// The other way: patches added up where they overlap, in pictures of these sizes.
Tensor from_patches(const Tensor& columns, const Dims& output_sizes, const PatchSettings& how);

// `pads`: two numbers for each dimension, the last one first; negative ones cut off.
Tensor constant_pad(const Tensor& a, const Dims& pads, const Scalar& value);

// The p-norm of the difference of each two rows: of the first and second, of the first and third, ...
Tensor pairwise_distances(const Tensor& a, double p);

}  // namespace gradlife::ops
