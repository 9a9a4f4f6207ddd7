// Normalisation over the last dimensions.
#include "engine/layers.hpp"
#include "engine/op_node.hpp"
#include "engine/unary.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

const NodeSpec& layer_norm_spec = node_spec(
    "NativeLayerNormBackward0", {saved_number("normalized_shape"), saved_tensor("bias"), saved_tensor("input"),
                                 saved_tensor("weight"), saved_tensor("result1"), saved_tensor("result2")});

struct Moments {
  Tensor mean;
  Tensor inverse_deviation;
};

Moments moments_of(G a, const Dims& dims, double epsilon) {
  const Tensor middle = mean(a, dims, true);
  const Tensor centred = sub(a, middle);
  const Tensor variance = mean(mul(centred, centred), dims, true);
  return {middle, apply(rsqrt_rule, add_scalar(variance, epsilon))};
}

Dims last_dims(const Dims& sizes) {
  Dims dims;
  for (size_t i = 0; i < sizes.size(); ++i)
    dims.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(sizes.size()));
  return dims;
}

// Slots: bias, input, weight, mean, inverse deviation.
class LayerNormNode final : public OpNode<5> {
 public:
  LayerNormNode(const Dims& sizes, double epsilon) : OpNode<5>(layer_norm_spec), sizes_(sizes), epsilon_(epsilon) {}
  SavedValue saved_value(size_t) const override { return saved(sizes_); }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    unpack(0);
    const Tensor input = unpack(1);
    const Tensor weight = unpack(2);
    Moments moments{unpack(3), unpack(4)};
    if (grad_enabled()) moments = moments_of(input, last_dims(sizes_), epsilon_);  // they depend on the input
    const Tensor normal = mul(sub(input, moments.mean), moments.inverse_deviation);
    if (needs(0)) results[0] = by_input(weight ? mul(gradient, weight) : gradient, normal, moments);
    if (needs(1)) results[1] = sum_to_size(mul(gradient, normal), sizes_);
    if (needs(2)) results[2] = sum_to_size(gradient, sizes_);
  }

 private:
  Tensor by_input(G gradient, G normal, const Moments& moments) const {
    const Dims dims = last_dims(sizes_);
    const Tensor level = mean(gradient, dims, true);
    const Tensor tilt = mul(normal, mean(mul(gradient, normal), dims, true));
    return mul(moments.inverse_deviation, sub(sub(gradient, level), tilt));
  }
  Dims sizes_;
  double epsilon_;
};

bool ends_with(const Dims& sizes, const Dims& end) {
  if (sizes.size() < end.size()) return false;
  for (size_t i = 0; i < end.size(); ++i)
    if (sizes[sizes.size() - end.size() + i] != end[i]) return false;
  return true;
}

std::string star_sizes(const Dims& sizes) {
  std::string text = "[*";
  for (int64_t size : sizes) text += concat(", ", size);
  return text + "]";
}

void check(G a, const Dims& sizes, G weight, G bias) {
  require(!sizes.empty(),
          "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
          "normalized_shape = ",
          sizes);
  for (const auto& [tensor, name] : {std::pair<G, const char*>(weight, "weight"), {bias, "bias"}})
    if (tensor)
      require(tensor->sizes() == sizes, "Expected ", name, " to be of same shape as normalized_shape, but got ", name,
              " of shape ", tensor->sizes(), " and normalized_shape = ", sizes);
  require(ends_with(a->sizes(), sizes), "Given normalized_shape=", sizes, ", expected input with shape ",
          star_sizes(sizes), ", but got input of size", a->sizes());
}

}  // namespace

Tensor layer_norm(const Tensor& a, const Dims& sizes, const Tensor& weight, const Tensor& bias, double epsilon) {
  check(a, sizes, weight, bias);
  const auto node = start_recording<LayerNormNode>({&a, &weight, &bias}, sizes, epsilon);
  const GradMode off(false);
  const Tensor plain = contiguous(a);  // as the result will be
  const Moments moments = moments_of(plain, last_dims(sizes), epsilon);
  Tensor result = mul(sub(plain, moments.mean), moments.inverse_deviation);
  if (weight) result = mul(result, weight);
  if (bias) result = add(result, bias);
  if (!node) return result;
  set_history(result, node.owner);
  if (bias) node->save_input(0, bias);
  node->save_input(1, a);
  if (weight) node->save_input(2, weight);
  node->save_input(3, moments.mean);
  node->save_input(4, moments.inverse_deviation);
  return result;
}

}  // namespace gradlife::ops
