// Activations around the logistic function: its logarithm, and its inverse.
#include <cmath>

#include "engine/activation_node.hpp"
#include "engine/activations.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

Tensor one_minus(G a) { return sub(wrapped_number(1), a); }
Tensor exp_of_minus_abs(const TensorImpl& a) {
  Tensor result = empty(a.sizes(), a.dtype());
  kernels::dispatch_floats(a.dtype(), "log_sigmoid_cpu", [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*result, kernels::Operand<T>(a), [](T x) { return std::exp(-std::fabs(x)); });
  });
  return result;
}

Tensor log_sigmoid_backward(G gradient, G self, G buffer);

const NodeSpec& log_sigmoid_spec = node_spec("LogSigmoidBackward0", {saved_tensor("buffer"), saved_tensor("self")});
const NodeSpec& log_sigmoid_backward_spec = node_spec(
    "LogSigmoidBackwardBackward0", {saved_tensor("buffer"), saved_tensor("grad_output"), saved_tensor("self")});

// Slots: buffer, self. The buffer is exp(-|x|).
class LogSigmoidNode final : public OpNode<2> {
 public:
  LogSigmoidNode() : OpNode<2>(log_sigmoid_spec) {}

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor buffer = unpack(0);
    results[0] = log_sigmoid_backward(gradient, unpack(1), buffer);
  }
};

// Slots: buffer, gradient, self.
class LogSigmoidBackwardNode final : public OpNode<3> {
 public:
  LogSigmoidBackwardNode() : OpNode<3>(log_sigmoid_backward_spec) {}

 protected:
  void differentiate(G arriving, TensorList& results) override {
    const Tensor buffer = unpack(0);
    const Tensor gradient = unpack(1);
    const Tensor self = unpack(2);
    if (needs(0)) results[0] = log_sigmoid_backward(arriving, self, buffer);
    if (needs(1)) {
      const Tensor share = sigmoid(self);
      results[1] = mul(neg(mul(arriving, gradient)), mul(share, one_minus(share)));
    }
  }
};

Tensor log_sigmoid_backward(G gradient, G self, G buffer) {
  const auto node = start_recording<LogSigmoidBackwardNode>({&gradient, &self});
  if (node) node->save_input(0, buffer);
  if (node && needs_graph({&self})) node->save_input(1, gradient);
  if (node) node->save_input(2, self);
  Tensor result = kernels::allocate_result(self->sizes(), self->dtype(), {gradient.get(), self.get()});
  kernels::dispatch_floats(result->dtype(), "log_sigmoid_backward_cpu", [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*result, kernels::Operand<T>(*gradient), kernels::Operand<T>(*self), [](T g, T x) {
      const T small = std::exp(-std::fabs(x));
      return g * (x < T(0) ? T(1) : small) / (T(1) + small);
    });
  });
  if (node) set_history(result, node.owner);
  return result;
}

struct Logit {
  bool has_margin;
  double margin;
  template <class T>
  T operator()(T x) const {
    if (has_margin) {
      const T low = static_cast<T>(margin);
      const T high = T(1) - low;
      x = x < low ? low : x > high ? high : x;
    }
    return std::log(x / (T(1) - x));
  }
};

const NodeSpec& logit_spec = node_spec("LogitBackward0", {saved_number("eps"), saved_tensor("self")});

class LogitNode final : public OpNode<1> {
 public:
  explicit LogitNode(const Logit& logit) : OpNode<1>(logit_spec), logit_(logit) {}
  SavedValue saved_value(size_t) const override {
    return logit_.has_margin ? saved(Scalar(logit_.margin)) : SavedValue();
  }

 protected:
  // Outside of where the function is defined, or moves, the gradient is nan or 0.
  void differentiate(G gradient, TensorList& results) override {
    const Tensor self = unpack(0);
    const double low = logit_.has_margin ? logit_.margin : 0;
    const Tensor is_inside =
        logical_and(compare_number(Comparison::ge, self, low), compare_number(Comparison::le, self, 1 - low));
    const Tensor outside = full({}, logit_.has_margin ? 0.0 : std::nan(""), self->dtype());
    results[0] = where(is_inside, div(gradient, mul(self, one_minus(self))), outside);
  }

 private:
  Logit logit_;
};

Logit logit_of(const Scalar* margin) { return {margin != nullptr, margin != nullptr ? margin->to<double>() : 0}; }

void fill_logit(const Logit& logit, const TensorImpl& out, const TensorImpl& in) {
  kernels::dispatch_floats(out.dtype(), "logit_cpu", [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(out, kernels::Operand<T>(in), logit);
  });
}

}  // namespace

Tensor log_sigmoid(const Tensor& a) {
  const auto node = start_recording<LogSigmoidNode>({&a});
  if (node) node->save_input(1, a);
  const Tensor buffer = exp_of_minus_abs(*a);
  Tensor result = empty(a->sizes(), a->dtype());
  kernels::dispatch_floats(a->dtype(), "log_sigmoid_cpu", [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*result, kernels::Operand<T>(*a), kernels::Operand<T>(*buffer),
                    [](T x, T small) { return (x < T(0) ? x : T(0)) - std::log1p(small); });
  });
  if (!node) return result;
  set_history(result, node.owner);
  node->save_input(0, buffer);
  return result;
}

Tensor logit(const Tensor& a, const Scalar* margin) {
  const Logit rule = logit_of(margin);
  const auto node = start_recording<LogitNode>({&a}, rule);
  if (node) node->save_input(0, a);
  Tensor result =
      kernels::allocate_result(a->sizes(), is_floating(a->dtype()) ? a->dtype() : DType::float32, {a.get()});
  fill_logit(rule, *result, *a);
  if (node) set_history(result, node.owner);
  return result;
}

Tensor logit_in_place(const Tensor& target, const Scalar* margin) {
  check_inplace(target, needs_graph({&target}));
  const Logit rule = logit_of(margin);
  const auto node = start_recording<LogitNode>({&target}, rule);
  if (node) node->save_input(0, clone(target));
  refuse_overlap(*target);
  refuse_cast(is_floating(target->dtype()) ? target->dtype() : DType::float32, *target);
  fill_logit(rule, *target, *target);
  finish_in_place(target, node);
  return target;
}

}  // namespace gradlife::ops
