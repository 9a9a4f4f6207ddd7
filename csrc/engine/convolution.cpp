// Convolutions and transposed ones, and their derivatives of any order: each gradient of a convolution is the product
// of the two others over the same pairs of elements.
#include "engine/convolution.hpp"

#include "engine/convolution_checks.hpp"
#include "engine/op_node.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;
using kernels::Meeting;

Meeting meeting_of(const Dims& input, const Dims& weight, const Dims& output, const ConvolutionSettings& how) {
  return {how.transposed ? output : input,
          weight,
          how.transposed ? input : output,
          how.stride,
          how.padding,
          how.dilation,
          how.groups};
}

// One number for each channel, added to all elements of it.
Tensor spread(G per_channel, size_t dims) {
  Dims sizes(dims, 1);
  sizes[1] = per_channel->numel();
  return view(per_channel, sizes);
}

Tensor by_channel(G whole) {
  Dims dims;
  for (size_t i = 0; i < whole->dim(); ++i)
    if (i != 1) dims.push_back(static_cast<int64_t>(i));
  return sum(whole, dims, false);
}

const NodeSpec& convolution_spec = node_spec(
    "ConvolutionBackward0", {saved_number("bias_sym_sizes_opt"), saved_number("dilation"), saved_number("groups"),
                             saved_tensor("input"), saved_number("output_padding"), saved_number("padding"),
                             saved_number("stride"), saved_number("transposed"), saved_tensor("weight")});
const NodeSpec& backward_spec = node_spec(
    "ConvolutionBackwardBackward0", {saved_number("dilation"), saved_tensor("grad_output"), saved_number("groups"),
                                     saved_tensor("input"), saved_number("output_padding"), saved_number("padding"),
                                     saved_number("stride"), saved_number("transposed"), saved_tensor("weight")});

SavedValue saved_setting(const ConvolutionSettings& how, const std::string& name) {
  if (name == "dilation") return saved(how.dilation);
  if (name == "groups") return saved(how.groups);
  if (name == "output_padding") return saved(how.output_padding);
  if (name == "padding") return saved(how.padding);
  if (name == "stride") return saved(how.stride);
  return saved(how.transposed);
}

// Slots: input, weight.
class ConvolutionNode final : public OpNode<2> {
 public:
  ConvolutionNode(const ConvolutionSettings& how, G bias)
      : OpNode<2>(convolution_spec), how_(how), bias_sizes_(bias ? bias->sizes() : Dims{0}) {}
  SavedValue saved_value(size_t field) const override {
    return field == 0 ? saved(bias_sizes_) : saved_setting(how_, spec().fields[field].name);
  }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor input = unpack(0), weight = unpack(1);
    ConvolutionGradients found = convolution_backward(gradient, input, weight, how_, {needs(0), needs(1), needs(2)});
    results[0] = std::move(found.input);
    results[1] = std::move(found.weight);
    results[2] = std::move(found.bias);
  }

 private:
  ConvolutionSettings how_;
  Dims bias_sizes_;
};

Tensor sum_of(Tensor a, Tensor b) { return a && b ? add(a, b) : a ? a : b; }

// Slots: the gradient that came, input, weight. Its three outputs are the gradients by input, weight and bias.
class ConvolutionBackwardNode final : public SlotNode<3> {
 public:
  explicit ConvolutionBackwardNode(const ConvolutionSettings& how) : SlotNode<3>(backward_spec), how_(how) {}
  SavedValue saved_value(size_t field) const override { return saved_setting(how_, spec().fields[field].name); }
  bool computes_outputs_together() const override { return true; }

  TensorList apply(TensorList&& gradients) override {
    const Tensor gradient = unpack(0), input = unpack(1), weight = unpack(2);
    const Tensor by_input = gradients[0], by_weight = gradients[1], by_bias = gradients[2];
    TensorList results(3);
    if (needs(0)) results[0] = by_gradient(gradients, input, weight, gradient->dim());
    if (needs(1) && by_weight)
      results[1] = convolution_backward(gradient, input, by_weight, how_, {true, false, false}).input;
    if (needs(2) && by_input)
      results[2] = convolution_backward(gradient, by_input, weight, how_, {false, true, false}).weight;
    return results;
  }

 private:
  Tensor by_gradient(const TensorList& gradients, G input, G weight, size_t dims) const {
    Tensor total;
    if (gradients[0]) total = convolution(gradients[0], weight, {}, how_);
    if (gradients[1]) total = sum_of(total, convolution(input, gradients[1], {}, how_));
    if (!gradients[2]) return total;
    const Tensor spread_out = spread(gradients[2], dims);
    return total ? add(total, spread_out) : expand(spread_out, output_sizes(input->sizes(), weight->sizes(), how_));
  }
  ConvolutionSettings how_;
};

Tensor zeros(const Dims& sizes, DType dtype) { return full(sizes, 0, dtype); }

ConvolutionGradients computed_gradients(G gradient, G input, G weight, const ConvolutionSettings& how,
                                        const WantedGradients& wanted) {
  const GradMode off(false);
  const Tensor g = contiguous(gradient);
  const Meeting meeting = meeting_of(input->sizes(), weight->sizes(), g->sizes(), how);
  ConvolutionGradients found;
  if (wanted.input) {
    found.input = zeros(input->sizes(), g->dtype());
    (how.transposed ? kernels::add_narrow : kernels::add_wide)(meeting, found.input, g, contiguous(weight));
  }
  if (wanted.weight) {
    found.weight = zeros(weight->sizes(), g->dtype());
    const Tensor x = contiguous(input);
    kernels::add_weight(meeting, found.weight, how.transposed ? g : x, how.transposed ? x : g);
  }
  if (wanted.bias) found.bias = by_channel(g);
  return found;
}

}  // namespace

Tensor convolution(const Tensor& a, const Tensor& weight, const Tensor& bias, const ConvolutionSettings& how) {
  refuse_forbidden_views({&a, &weight});
  if (bias) refuse_forbidden_view_of(bias);
  check_convolution(a, weight, bias, how);
  const auto node = start_recording<ConvolutionNode>({&a, &weight, &bias}, how, bias);
  const Dims sizes = output_sizes(a->sizes(), weight->sizes(), how);
  Tensor result;
  {
    const GradMode off(false);
    result = zeros(sizes, a->dtype());
    const Meeting meeting = meeting_of(a->sizes(), weight->sizes(), sizes, how);
    (how.transposed ? kernels::add_wide : kernels::add_narrow)(meeting, result, contiguous(a), contiguous(weight));
    if (bias) kernels::copy(*result, *add(result, spread(bias, a->dim())));
  }
  if (!node) return result;
  node->save_input(0, a);
  node->save_input(1, weight);
  set_history(result, node.owner);
  return result;
}

ConvolutionGradients convolution_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                                          const ConvolutionSettings& how, const WantedGradients& wanted) {
  const auto node = start_recording<ConvolutionBackwardNode>({&gradient, &input, &weight}, how);
  ConvolutionGradients found = computed_gradients(gradient, input, weight, how, wanted);
  if (!node) return found;
  node->save_input(0, gradient);
  node->save_input(1, input);
  node->save_input(2, weight);
  for (const Tensor* each : {&found.input, &found.weight, &found.bias}) {
    if (*each) {
      set_history(*each, node.owner);
    } else {
      node->add_placeholder_input();
    }
  }
  return found;
}

}  // namespace gradlife::ops
