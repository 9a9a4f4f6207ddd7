// What PyTorch says of shapes and settings that make no convolution.
#include "engine/convolution_checks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/overlap.hpp"

namespace gradlife::ops {
namespace {

bool any_below(const Dims& dims, int64_t least) {
  return std::any_of(dims.begin(), dims.end(), [&](int64_t each) { return each < least; });
}

std::string joined(const Dims& dims) {
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : " x ") + std::to_string(dims[i]);
  return text;
}

void check_settings(const ConvolutionSettings& how) {
  require(!any_below(how.padding, 0), "negative padding is not supported");
  require(!any_below(how.output_padding, 0), "negative output_padding is not supported");
  require(!any_below(how.stride, 1), "non-positive stride is not supported");
  require(!any_below(how.dilation, 1), "dilation should be greater than zero");
  require(how.groups > 0, "non-positive groups is not supported");
}

void check_bias(const Tensor& bias, const Dims& weight, int64_t channels, const ConvolutionSettings& how) {
  if (!bias || (bias->dim() == 1 && bias->numel() == channels)) return;
  fail(ErrorKind::runtime, "Given ", how.transposed ? "transposed=1, " : "", "weight of size ", weight,
       ", expected bias to be 1-dimensional with ", channels, " elements, but got bias of size ", bias->sizes(),
       " instead");
}

void check_fits(const Dims& input, const Dims& weight, const ConvolutionSettings& how) {
  Dims padded, kernel;
  bool fits = true;
  for (size_t i = 2; i < input.size(); ++i) {
    padded.push_back(input[i] + 2 * how.padding[i - 2]);
    kernel.push_back(how.dilation[i - 2] * (weight[i] - 1) + 1);
    fits = fits && padded[i - 2] >= kernel[i - 2];
  }
  require(fits, "Calculated padded input size per channel: (", joined(padded), "). Kernel size: (", joined(kernel),
          "). Kernel size can't be greater than actual input size");
}

void check_plain(const Dims& input, const Dims& weight, const Tensor& bias, const ConvolutionSettings& how) {
  const int64_t channels = weight[1] * how.groups;
  require(input[1] == channels, "Given groups=", how.groups, ", weight of size ", weight, ", expected input", input,
          " to have ", channels, " channels, but got ", input[1], " channels instead");
  check_bias(bias, weight, weight[0], how);
  check_fits(input, weight, how);
}

// Rows count as pictures of height 1.
std::string space_of(const Dims& sizes) {
  Dims space = sizes;
  space.erase(0);
  space.erase(0);
  return (space.size() == 1 ? "1 x " : "") + joined(space);
}

void check_result(const Dims& input, const Dims& output) {
  for (size_t i = 2; i < output.size(); ++i)
    require(output[i] >= 1, "Given input size per channel: (", space_of(input),
            "). Calculated output size per channel: (", space_of(output), "). Output size is too small");
}

void check_transposed(const Dims& input, const Dims& weight, const Tensor& bias, const ConvolutionSettings& how) {
  require(input[1] == weight[0], "Given transposed=1, weight of size ", weight, ", expected input", input, " to have ",
          weight[0], " channels, but got ", input[1], " channels instead");
  check_bias(bias, weight, weight[1] * how.groups, how);
  check_result(input, output_sizes(input, weight, how));
}

void check_shapes(const Dims& input, const Dims& weight, const ConvolutionSettings& how) {
  require(weight.size() == input.size(), "Expected ", weight.size(), "-dimensional input for ", weight.size(),
          "-dimensional weight ", weight, ", but got ", input.size(), "-dimensional input of size ", input, " instead");
  require(weight[0] >= how.groups, "Given groups=", how.groups, ", expected weight to be at least ", how.groups,
          " at dimension 0, but got weight of size ", weight, " instead");
  require(weight[0] % how.groups == 0, "Given groups=", how.groups, ", expected weight to be divisible by ", how.groups,
          " at dimension 0, but got weight of size [", weight, "] instead");
}

void check_counts(const Dims& weight, const ConvolutionSettings& how) {
  require(weight.size() > 2, "weight should have at least three dimensions");
  const size_t dims = weight.size() - 2;
  const std::pair<const char*, const Dims*> settings[] = {{"stride", &how.stride},
                                                          {"padding", &how.padding},
                                                          {"dilation", &how.dilation},
                                                          {"output_padding", &how.output_padding}};
  for (const auto& [name, values] : settings)
    require(values->size() == dims, "expected ", name, " to be a single integer value or a list of ", dims,
            " values to match the convolution dimensions, but got ", name, "=", *values);
}

void check_dtypes(const TensorImpl& a, const TensorImpl& weight, const Tensor& bias) {
  require(a.dtype() == weight.dtype(), "expected scalar type ", kernels::scalar_type_name(a.dtype()), " but found ",
          kernels::scalar_type_name(weight.dtype()));
  if (bias && bias->dtype() != a.dtype())
    fail(ErrorKind::runtime, "Input type (", ctype_name(a.dtype()), ") and bias type (", ctype_name(bias->dtype()),
         ") should be the same");
}

}  // namespace

Dims output_sizes(const Dims& input, const Dims& weight, const ConvolutionSettings& how) {
  Dims sizes{input[0], how.transposed ? weight[1] * how.groups : weight[0]};
  for (size_t i = 2; i < input.size(); ++i) {
    const int64_t reach = how.dilation[i - 2] * (weight[i] - 1), padding = 2 * how.padding[i - 2];
    const int64_t stride = how.stride[i - 2];
    sizes.push_back(how.transposed ? (input[i] - 1) * stride - padding + reach + how.output_padding[i - 2] + 1
                                   : (input[i] + padding - reach - 1) / stride + 1);
  }
  return sizes;
}

void check_convolution(const Tensor& a, const Tensor& weight, const Tensor& bias, const ConvolutionSettings& how) {
  check_counts(weight->sizes(), how);
  check_dtypes(*a, *weight, bias);
  check_settings(how);
  check_shapes(a->sizes(), weight->sizes(), how);
  (how.transposed ? check_transposed : check_plain)(a->sizes(), weight->sizes(), bias, how);
}

}  // namespace gradlife::ops
