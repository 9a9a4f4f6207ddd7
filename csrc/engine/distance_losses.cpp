// Losses that depend on the difference of input and target alone: squared, smooth and Huber's.
#include <cmath>

#include "engine/losses.hpp"
#include "engine/op_node.hpp"
#include "engine/ternary.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

// A loss F is a struct of its parameters:
//   spec(), backward_spec()                 value fields: the parameter if it has one, then the reduction
//   T operator()(T difference) const;       the loss
//   T slope(T difference) const;            its derivative
//   T curvature(T difference) const;        the derivative of that
template <class F>
class LossBackwardNode;

template <class F>
SavedValue saved_parameter(const F& f, Averaging averaging, size_t field) {
  return F::has_parameter && field == 0 ? saved(Scalar(f.parameter)) : saved(static_cast<int64_t>(averaging));
}

template <class F, class Of>
Tensor each_pair(G a, G target, Of of) {
  const DType dtype = kernels::result_dtype({a.get(), target.get()});
  Tensor out =
      kernels::allocate_result(kernels::broadcast_sizes(a->sizes(), target->sizes()), dtype, {a.get(), target.get()});
  kernels::dispatch_floats(dtype, F::name, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*out, kernels::Operand<T>(*a), kernels::Operand<T>(*target), [of](T x, T y) { return of(x - y); });
  });
  return out;
}

Tensor averaged(G each, Averaging averaging) {
  const GradMode off(false);
  if (averaging == Averaging::none) return each;
  return averaging == Averaging::sum ? sum(each) : mean(each);
}

double share_of_each(G a, G target, Averaging averaging) {
  if (averaging != Averaging::mean) return 1;
  return 1.0 / static_cast<double>(kernels::broadcast_sizes(a->sizes(), target->sizes()).product());
}

template <class F>
Tensor loss_backward(const F& f, G gradient, G a, G target, Averaging averaging) {
  const auto node = start_recording<LossBackwardNode<F>>({&gradient, &a, &target}, f, averaging);
  if (node) node->save(gradient, a, target);
  const double share = share_of_each(a, target, averaging);
  const DType dtype = kernels::result_dtype({a.get(), target.get()});
  Tensor result = kernels::compute(gradient, a, target, dtype, F::name, [f, share](auto g, auto x, auto y) {
    using T = decltype(x);
    return static_cast<T>(g * static_cast<T>(f.slope(static_cast<T>(x - y)) * static_cast<T>(share)));
  });
  if (node) set_history(result, node.owner);
  return result;
}

// The curvature at each pair, as a constant: the losses here have no third derivative.
template <class F>
Tensor curvature(const F& f, G a, G target) {
  return each_pair<F>(a, target, [f](auto difference) { return f.curvature(difference); });
}

// Slots: grad_output, self, target. Inputs: gradient, self, target.
template <class F>
class LossBackwardNode final : public OpNode<3> {
 public:
  LossBackwardNode(const F& f, Averaging averaging) : OpNode<3>(F::backward_spec()), f_(f), averaging_(averaging) {}
  SavedValue saved_value(size_t field) const override { return saved_parameter(f_, averaging_, field); }
  void save(G gradient, G a, G target) {
    save_input(0, gradient);
    save_input(1, a);
    save_input(2, target);
  }

 protected:
  void differentiate(G arriving, TensorList& results) override {
    const Tensor gradient = unpack(0);
    const Tensor a = unpack(1);
    const Tensor target = unpack(2);
    if (needs(0)) results[0] = by_gradient(arriving, a, target);
    if (!needs(1) && !needs(2)) return;
    const Tensor bent = mul(mul(arriving, gradient), mul_scalar(curvature(f_, a, target), share(a, target)));
    if (needs(1)) results[1] = bent;
    if (needs(2)) results[2] = neg(bent);
  }

 private:
  double share(G a, G target) const { return share_of_each(a, target, averaging_); }
  Tensor by_gradient(G arriving, G a, G target) const {
    if (averaging_ == Averaging::none) return loss_backward(f_, arriving, a, target, averaging_);
    const Tensor one = full({}, 1, a->dtype());
    return sum(mul(loss_backward(f_, one, a, target, averaging_), arriving));
  }
  F f_;
  Averaging averaging_;
};

// Slots: self, target.
template <class F>
class LossNode final : public OpNode<2> {
 public:
  LossNode(const F& f, Averaging averaging) : OpNode<2>(F::spec()), f_(f), averaging_(averaging) {}
  SavedValue saved_value(size_t field) const override { return saved_parameter(f_, averaging_, field); }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor a = unpack(0);
    const Tensor target = unpack(1);
    if (needs(0)) results[0] = loss_backward(f_, gradient, a, target, averaging_);
    if (needs(1)) results[1] = loss_backward(f_, gradient, target, a, averaging_);
  }

 private:
  F f_;
  Averaging averaging_;
};

template <class F>
Tensor apply(const F& f, G a, G target, Averaging averaging) {
  const auto node = start_recording<LossNode<F>>({&a, &target}, f, averaging);
  if (node) node->save_input(0, a);
  if (node) node->save_input(1, target);
  const Tensor each = each_pair<F>(a, target, [f](auto difference) { return f(difference); });
  Tensor result = averaged(each, averaging);
  if (node) set_history(result, node.owner);
  return result;
}

std::vector<SavedField> fields(const char* parameter, bool has_gradient) {
  std::vector<SavedField> result;
  if (parameter != nullptr) result.push_back(saved_number(parameter));
  result.push_back(saved_number("reduction"));
  if (has_gradient) result.push_back(saved_tensor("grad_output"));
  result.push_back(saved_tensor("self"));
  result.push_back(saved_tensor("target"));
  return result;
}

struct Squared {
  static constexpr const char* name = "mse_cpu";
  static constexpr bool has_parameter = false;
  double parameter = 0;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("MseLossBackward0", fields(nullptr, false));
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec = node_spec("MseLossBackwardBackward0", fields(nullptr, true));
    return spec;
  }
  template <class T>
  T operator()(T difference) const {
    return difference * difference;
  }
  template <class T>
  T slope(T difference) const {
    return T(2) * difference;
  }
  template <class T>
  T curvature(T) const {
    return T(2);
  }
};

// Squared near 0, straight beyond beta.
struct Smooth {
  static constexpr const char* name = "smooth_l1_cpu";
  static constexpr bool has_parameter = true;
  double parameter;  // beta
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("SmoothL1LossBackward0", fields("beta", false));
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec = node_spec("SmoothL1LossBackwardBackward0", fields("beta", true));
    return spec;
  }
  template <class T>
  T operator()(T difference) const {
    const T beta = static_cast<T>(parameter);
    const T distance = std::fabs(difference);
    return distance < beta ? T(0.5) * distance * distance / beta : distance - T(0.5) * beta;
  }
  template <class T>
  T slope(T difference) const {
    const T beta = static_cast<T>(parameter);
    if (difference <= -beta) return T(-1);
    return difference >= beta ? T(1) : difference / beta;
  }
  template <class T>
  T curvature(T difference) const {
    return std::fabs(difference) < static_cast<T>(parameter) ? T(1) / static_cast<T>(parameter) : T(0);
  }
};

struct Huber {
  static constexpr const char* name = "huber_cpu";
  static constexpr bool has_parameter = true;
  double parameter;  // delta
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("HuberLossBackward0", fields("delta", false));
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec = node_spec("HuberLossBackwardBackward0", fields("delta", true));
    return spec;
  }
  template <class T>
  T operator()(T difference) const {
    const T delta = static_cast<T>(parameter);
    const T distance = std::fabs(difference);
    return distance < delta ? T(0.5) * distance * distance : delta * (distance - T(0.5) * delta);
  }
  template <class T>
  T slope(T difference) const {
    const T delta = static_cast<T>(parameter);
    if (difference <= -delta) return -delta;
    return difference >= delta ? delta : difference;
  }
  template <class T>
  T curvature(T difference) const {
    return std::fabs(difference) < static_cast<T>(parameter) ? T(1) : T(0);
  }
};

}  // namespace

Tensor mse_loss(const Tensor& a, const Tensor& target, Averaging averaging) {
  return apply(Squared{}, a, target, averaging);
}
Tensor smooth_l1_loss(const Tensor& a, const Tensor& target, Averaging averaging, double beta) {
  return apply(Smooth{beta}, a, target, averaging);
}
Tensor huber_loss(const Tensor& a, const Tensor& target, Averaging averaging, double delta) {
  require(delta > 0, "huber_loss does not support non-positive values for delta.");
  return apply(Huber{delta}, a, target, averaging);
}

}  // namespace gradlife::ops
