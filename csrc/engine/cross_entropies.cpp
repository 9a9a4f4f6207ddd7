// Binary cross entropies: of probabilities, and of what a logistic function makes probabilities of.
#include <algorithm>
#include <cmath>

#include "engine/activations.hpp"
#include "engine/losses.hpp"
#include "engine/ternary.hpp"
#include "engine/unary.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

constexpr double least_log = -100;
constexpr double least_variance = 1e-12;

Tensor one_minus(G a) { return sub(wrapped_number(1), a); }
Tensor weighted(G tensor, G weight) { return weight ? mul(tensor, weight) : tensor; }

Tensor averaged(G each, Averaging averaging) {
  if (averaging == Averaging::none) return each;
  return averaging == Averaging::sum ? sum(each) : mean(each);
}

// Each element's share of a gradient that averaging brings.
Tensor shared(G gradient, G self, Averaging averaging) {
  return averaging == Averaging::mean ? div_scalar(gradient, self->numel()) : gradient;
}

struct Entropy {
  template <class T>
  T operator()(T x, T target) const {
    const T low = static_cast<T>(least_log);
    return (target - T(1)) * std::max(static_cast<T>(std::log1p(-x)), low) - target * std::max(std::log(x), low);
  }
};
struct EntropySlope {
  template <class T>
  T operator()(T gradient, T x, T target) const {
    return gradient * (x - target) / std::max((T(1) - x) * x, static_cast<T>(least_variance));
  }
};

std::vector<SavedField> entropy_fields(bool has_gradient) {
  std::vector<SavedField> fields{saved_number("reduction")};
  if (has_gradient) fields.push_back(saved_tensor("grad_output"));
  for (const char* name : {"self", "target", "weight"}) fields.push_back(saved_tensor(name));
  return fields;
}
const NodeSpec& entropy_spec = node_spec("BinaryCrossEntropyBackward0", entropy_fields(false));
const NodeSpec& entropy_backward_spec = node_spec("BinaryCrossEntropyBackwardBackward0", entropy_fields(true));
const NodeSpec& logits_spec = node_spec("BinaryCrossEntropyWithLogitsBackward0",
                                        {saved_number("reduction"), saved_tensor("pos_weight"), saved_tensor("self"),
                                         saved_tensor("target"), saved_tensor("weight")});

Tensor entropy_backward(G gradient, G self, G target, G weight, Averaging averaging);

// Slots: grad_output, self, target, weight. Inputs: the gradient, self, target.
class EntropyBackwardNode final : public OpNode<4> {
 public:
  explicit EntropyBackwardNode(Averaging averaging) : OpNode<4>(entropy_backward_spec), averaging_(averaging) {}
  SavedValue saved_value(size_t) const override { return saved(static_cast<int64_t>(averaging_)); }

 protected:
  void differentiate(G arriving, TensorList& results) override {
    const Tensor gradient = unpack(0);
    const Tensor self = unpack(1);
    const Tensor target = unpack(2);
    const Tensor weight = unpack(3);
    if (needs(0)) results[0] = by_gradient(arriving, self, target, weight);
    const Tensor outer = weighted(mul(arriving, shared(gradient, self, averaging_)), weight);
    const Tensor variance = mul(self, one_minus(self));
    if (needs(1)) {
      const Tensor bend = add(sub(mul(self, self), mul_scalar(mul(self, target), 2)), target);
      results[1] = mul(outer, div(bend, mul(variance, variance)));
    }
    if (needs(2)) results[2] = neg(div(outer, variance));
  }

 private:
  Tensor by_gradient(G arriving, G self, G target, G weight) const {
    if (averaging_ == Averaging::none) return entropy_backward(arriving, self, target, weight, averaging_);
    const Tensor one = full({}, 1, self->dtype());
    return sum(mul(entropy_backward(one, self, target, weight, averaging_), arriving));
  }
  Averaging averaging_;
};

Tensor entropy_backward(G gradient, G self, G target, G weight, Averaging averaging) {
  const auto node = start_recording<EntropyBackwardNode>({&gradient, &self, &target}, averaging);
  if (node) {
    node->save_input(0, gradient);
    node->save_input(1, self);
    node->save_input(2, target);
    if (weight) node->save_input(3, weight);
  }
  const GradMode off(false);
  const Tensor each = kernels::compute(gradient, self, target, self->dtype(), "binary_cross_entropy", EntropySlope());
  Tensor result = shared(weighted(each, weight), self, averaging);
  if (node) set_history(result, node.owner);
  return result;
}

// Slots: self, target, weight.
class EntropyNode final : public OpNode<3> {
 public:
  explicit EntropyNode(Averaging averaging) : OpNode<3>(entropy_spec), averaging_(averaging) {}
  SavedValue saved_value(size_t) const override { return saved(static_cast<int64_t>(averaging_)); }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor self = unpack(0);
    const Tensor target = unpack(1);
    const Tensor weight = unpack(2);
    if (needs(0)) results[0] = entropy_backward(gradient, self, target, weight, averaging_);
    if (needs(1)) {
      const Tensor odds = sub(log(one_minus(self)), log(self));
      results[1] = weighted(mul(odds, shared(gradient, self, averaging_)), weight);
    }
  }

 private:
  Averaging averaging_;
};

void require_probabilities(const Tensor& self) {
  const Tensor outside =
      logical_not(logical_and(compare_number(Comparison::ge, self, 0), compare_number(Comparison::le, self, 1)));
  require(!item(any(outside)).to<bool>(), "all elements of input should be between 0 and 1");
}

// Slots: pos_weight, self, target, weight.
class LogitsNode final : public OpNode<4> {
 public:
  explicit LogitsNode(Averaging averaging) : OpNode<4>(logits_spec), averaging_(averaging) {}
  SavedValue saved_value(size_t) const override { return saved(static_cast<int64_t>(averaging_)); }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor pos_weight = unpack(0);
    const Tensor self = unpack(1);
    const Tensor target = unpack(2);
    const Tensor weight = unpack(3);
    if (needs(0)) results[0] = finished(by_self(gradient, self, target, pos_weight), self, weight);
    if (needs(1)) results[1] = finished(by_target(gradient, self, pos_weight), self, weight);
  }

 private:
  Tensor finished(G tensor, G self, G weight) const { return shared(weighted(tensor, weight), self, averaging_); }
  static Tensor by_self(G gradient, G self, G target, G pos_weight) {
    if (!pos_weight) return mul(sub(sigmoid(self), target), gradient);
    const Tensor positive = mul(pos_weight, target);
    return mul(sub(mul(sub(add_scalar(positive, 1), target), sigmoid(self)), positive), gradient);
  }
  static Tensor by_target(G gradient, G self, G pos_weight) {
    if (!pos_weight) return mul(gradient, neg(self));
    return mul(gradient, sub(log_sigmoid(neg(self)), mul(pos_weight, log_sigmoid(self))));
  }
  Averaging averaging_;
};

}  // namespace

Tensor binary_cross_entropy(const Tensor& a, const Tensor& target, const Tensor& weight, Averaging averaging) {
  const auto node = start_recording<EntropyNode>({&a, &target}, averaging);
  if (node) {
    node->save_input(0, a);
    node->save_input(1, target);
    if (weight) node->save_input(2, weight);
  }
  const GradMode off(false);
  require_probabilities(a);
  Tensor each = kernels::allocate_result(a->sizes(), a->dtype(), {a.get(), target.get()});
  kernels::dispatch_floats(a->dtype(), "binary_cross_entropy", [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*each, kernels::Operand<T>(*a), kernels::Operand<T>(*target), Entropy());
  });
  Tensor result = averaged(weighted(each, weight), averaging);
  if (node) set_history(result, node.owner);
  return result;
}

Tensor binary_cross_entropy_with_logits(const Tensor& a, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, Averaging averaging) {
  const auto node = start_recording<LogitsNode>({&a, &target}, averaging);
  if (node) {
    if (pos_weight) node->save_input(0, pos_weight);
    node->save_input(1, a);
    node->save_input(2, target);
    if (weight) node->save_input(3, weight);
  }
  const GradMode off(false);
  const Tensor certainty = log_sigmoid(a);
  const Tensor scaled = pos_weight ? mul(add_scalar(mul(sub_scalar(pos_weight, 1), target), 1), certainty) : certainty;
  const Tensor each = sub(mul(one_minus(target), a), scaled);
  Tensor result = averaged(weighted(each, weight), averaging);
  if (node) set_history(result, node.owner);
  return result;
}

}  // namespace gradlife::ops
