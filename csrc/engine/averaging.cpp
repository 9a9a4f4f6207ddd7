// Averages of parts of about equal size.
#include "engine/op_node.hpp"
#include "engine/resampling.hpp"

namespace gradlife::ops {
namespace {

std::vector<Stretch> parts_of(const Dims& input, const Dims& output) {
  std::vector<Stretch> parts;
  for (size_t i = 0; i < output.size(); ++i)
    parts.push_back({input[input.size() - output.size() + i], output[i], false, std::nullopt});
  return parts;
}

Dims last(const Dims& sizes, size_t count) {
  Dims result;
  for (size_t i = sizes.size() - count; i < sizes.size(); ++i) result.push_back(sizes[i]);
  return result;
}

const NodeSpec& average_spec(size_t dims) {
  static const NodeSpec& two = node_spec("AdaptiveAvgPool2DBackward0", {saved_tensor("self")});
  static const NodeSpec& three = node_spec("AdaptiveAvgPool3DBackward0", {saved_tensor("self")});
  return dims == 2 ? two : three;
}

const NodeSpec& back_spec(size_t dims) {
  static const NodeSpec& two =
      node_spec("AdaptiveAvgPool2DBackwardBackward0",
                {saved_number("grad_output_sym_argsize_minus_1"), saved_number("grad_output_sym_argsize_minus_2")});
  static const NodeSpec& three =
      node_spec("AdaptiveAvgPool3DBackwardBackward0",
                {saved_number("grad_output_sym_argsize_minus_1"), saved_number("grad_output_sym_argsize_minus_2"),
                 saved_number("grad_output_sym_argsize_minus_3")});
  return dims == 2 ? two : three;
}

Tensor averages_back(const Tensor& gradient, const Tensor& input, size_t dims);

// Slot: the input, of which nothing but the shape counts.
class AverageNode final : public OpNode<1> {
 public:
  explicit AverageNode(size_t dims) : OpNode<1>(average_spec(dims)), dims_(dims) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    results[0] = averages_back(gradient, unpack(0), dims_);
  }

 private:
  size_t dims_;
};

// Inputs: the gradient, and the input of the averages, which it does not depend on.
class AverageBackNode final : public OpNode<0> {
 public:
  AverageBackNode(size_t dims, const TensorImpl& gradient, const TensorImpl& input)
      : OpNode<0>(back_spec(dims)), sizes_(last(gradient.sizes(), dims)), input_sizes_(input.sizes()) {}
  SavedValue saved_value(size_t field) const override { return saved(sizes_[sizes_.size() - 1 - field]); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    if (needs(0)) results[0] = adaptive_average(gradient, sizes_);
    if (needs(1)) results[1] = full(input_sizes_, 0, gradient->dtype());
  }

 private:
  Dims sizes_, input_sizes_;
};

Tensor averages_back(const Tensor& gradient, const Tensor& input, size_t dims) {
  const auto node = start_recording<AverageBackNode>({&gradient, &input}, dims, *gradient, *input);
  const auto parts = parts_of(input->sizes(), last(gradient->sizes(), dims));
  Tensor result = resampled_back(gradient, Resampling::averages, parts);
  if (node) set_history(result, node.owner);
  return result;
}

void check_average(const TensorImpl& a, const Dims& sizes) {
  const size_t dims = sizes.size();
  require(a.dim() == dims + 1 || a.dim() == dims + 2, "adaptive_avg_pool", dims, "d(): Expected ", dims + 1, "D or ",
          dims + 2, "D tensor, but got ", a.sizes());
  for (size_t i = a.dim() - dims; i < a.dim(); ++i)
    require(a.sizes()[i] > 0, "adaptive_avg_pool", dims,
            "d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ", a.sizes(),
            " with dimension ", i, " being empty");
}

}  // namespace

Tensor adaptive_average(const Tensor& a, const Dims& sizes) {
  refuse_forbidden_view_of(a);
  if (sizes == Dims(sizes.size(), 1) && a->dim() > sizes.size()) {
    Dims dims;
    for (size_t i = 1; i <= sizes.size(); ++i) dims.push_back(-static_cast<int64_t>(i));
    return mean(a, dims, true);
  }
  check_average(*a, sizes);
  const auto node = start_recording<AverageNode>({&a}, sizes.size());
  Tensor result = resampled(a, Resampling::averages, parts_of(a->sizes(), sizes));
  if (!node) return result;
  node->save_input(0, a);
  set_history(result, node.owner);
  return result;
}

}  // namespace gradlife::ops
