// Activations with parameters that have a second derivative: softplus, elu, celu, gelu, hardswish.
#include <cmath>

#include "engine/activation_node.hpp"
#include "engine/activations.hpp"
#include "engine/unary.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

Tensor zero_of(G tensor) { return full({}, 0.0, tensor->dtype()); }
Tensor is_above(G tensor, const Scalar& bound) { return compare_number(Comparison::gt, tensor, bound); }
Tensor one_minus(G a) { return sub(wrapped_number(1), a); }

// log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.
struct Softplus {
  static constexpr const char* name = "softplus_cpu";
  static constexpr bool is_bent = true;
  Scalar beta, threshold;

  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("SoftplusBackward0", {saved_number("beta"), saved_number("threshold"), saved_tensor("self")});
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec =
        node_spec("SoftplusBackwardBackward0",
                  {saved_number("beta"), saved_number("threshold"), saved_tensor("grad_output"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t field) const { return saved(field == 0 ? beta : threshold); }
  template <class T>
  T operator()(T x) const {
    const T scaled = x * beta.to<T>();
    return scaled > threshold.to<T>() ? x : std::log1p(std::exp(scaled)) / beta.to<T>();
  }
  template <class T>
  T pull(T gradient, T x) const {
    const T scaled = x * beta.to<T>();
    return scaled > threshold.to<T>() ? gradient : gradient / (T(1) + std::exp(-scaled));
  }
  Tensor second(G arriving, G gradient, G self) const {
    const Tensor scaled = mul_scalar(self, beta);
    const Tensor share = sigmoid(scaled);
    const Tensor slope = mul_scalar(mul(share, one_minus(share)), beta);
    return mul(mul(arriving, gradient), where(is_above(scaled, threshold), zero_of(self), slope));
  }
};

// scale x above 0, scale alpha (exp(input_scale x) - 1) below. The gradient can be told from x or from the result.
struct Elu {
  static constexpr const char* name = "elu_cpu";
  static constexpr bool is_bent = true;
  Scalar alpha, scale, input_scale;
  bool by_result = false;

  static std::vector<SavedField> fields(const char* tensor) {
    return {saved_number("alpha"), saved_number("input_scale"), saved_number("scale"), saved_tensor(tensor)};
  }
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("EluBackward0", fields("self"));
    return spec;
  }
  static const NodeSpec& in_place_spec() {
    static const NodeSpec& spec = node_spec("EluBackward1", fields("result"));
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec =
        node_spec("EluBackwardBackward0",
                  {saved_number("alpha"), saved_number("input_scale"), saved_number("scale"), saved_number("is_result"),
                   saved_tensor("grad_output"), saved_tensor("self_or_result")});
    return spec;
  }
  SavedValue value(size_t field) const {
    return field == 3 ? saved(by_result) : saved(field == 0 ? alpha : field == 1 ? input_scale : scale);
  }
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? std::expm1(x * input_scale.to<T>()) * alpha.to<T>() * scale.to<T>() : x * scale.to<T>();
  }
  template <class T>
  T pull(T gradient, T x) const {
    if (!(x <= T(0))) return gradient * scale.to<T>();
    const T height = alpha.to<T>() * scale.to<T>();
    return gradient * input_scale.to<T>() * (by_result ? x + height : height * std::exp(x * input_scale.to<T>()));
  }
  Tensor second(G arriving, G gradient, G self) const {
    const double factor = input_scale.to<double>();
    const double bend = factor * factor * alpha.to<double>() * scale.to<double>();
    const Tensor slope =
        by_result ? full_like(self, factor, self->dtype()) : mul_scalar(exp(mul_scalar(self, factor)), bend);
    return mul(mul(arriving, gradient), where(is_above(self, 0), zero_of(self), slope));
  }
};

// elu with alpha for its scale of the input, under a node of its own.
struct Celu : Elu {
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("CeluBackward0", {saved_number("alpha"), saved_tensor("self")});
    return spec;
  }
  static const NodeSpec& in_place_spec() {
    static const NodeSpec& spec = node_spec("CeluBackward1", {saved_number("alpha"), saved_tensor("result")});
    return spec;
  }
};

Celu celu_of(const Scalar& alpha, bool by_result) {
  require(!alpha.is(0), "ZeroDivisionError: alpha cannot be 0 for CELU");
  return {{alpha, 1, 1.0 / alpha.to<double>(), by_result}};
}

template <class F>
void refuse_negative(const F& f) {
  require(f.alpha.template to<double>() >= 0,
          "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused "
          "by calling in-place forward function with a negative slope, please call out-of-place version instead.");
}

constexpr double root_two_over_pi = 0.7978845608028654;
constexpr double root_half = 0.7071067811865476;
constexpr double cubic = 0.044715;

// x times the share of a normal distribution below x, or an approximation of that by tanh.
struct Gelu {
  static constexpr const char* name = "GeluKernelImpl";
  static constexpr bool is_bent = true;
  bool by_tanh;

  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("GeluBackward0", {saved_number("approximate"), saved_tensor("self")});
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec = node_spec(
        "GeluBackwardBackward0", {saved_number("approximate"), saved_tensor("grad_output"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t) const { return saved_text(by_tanh ? "tanh" : "none"); }
  template <class T>
  static T inner(T x) {
    return static_cast<T>(root_two_over_pi) * (x + static_cast<T>(cubic) * x * x * x);
  }
  template <class T>
  T operator()(T x) const {
    return by_tanh ? x * (T(1) + std::tanh(inner(x))) / T(2)
                   : x * (T(1) + std::erf(x * static_cast<T>(root_half))) / T(2);
  }
  template <class T>
  T pull(T gradient, T x) const {
    if (by_tanh) {
      const T gate = std::tanh(inner(x));
      const T slope = static_cast<T>(root_two_over_pi) * (T(1) + T(3) * static_cast<T>(cubic) * x * x);
      return gradient * ((T(1) + gate) + x * (T(1) - gate * gate) * slope) / T(2);
    }
    const T share = (T(1) + std::erf(x * static_cast<T>(root_half))) / T(2);
    const T density = std::exp(-x * x / T(2)) * static_cast<T>(root_two_over_pi / 2);
    return gradient * (share + x * density);
  }
  Tensor second(G arriving, G gradient, G self) const {
    return mul(mul(arriving, gradient), by_tanh ? tanh_bend(self) : density_bend(self));
  }

 private:
  static Tensor density_bend(G self) {
    const Tensor square = mul(self, self);
    const Tensor density = mul_scalar(exp(mul_scalar(square, -0.5)), root_two_over_pi / 2);
    return mul(density, sub(wrapped_number(2), square));
  }
  // With u the inner polynomial and t = tanh(u): (1 - t²)(u' + x u''/2 - x t u'²), where x u'' = 6 √(2/π) 0.044715 x².
  static Tensor tanh_bend(G self) {
    const Tensor square = mul(self, self);
    const Tensor inner = mul_scalar(mul(self, add_scalar(mul_scalar(square, cubic), 1)), root_two_over_pi);
    const Tensor slope = mul_scalar(add_scalar(mul_scalar(square, 3 * cubic), 1), root_two_over_pi);
    const Tensor gate = tanh(inner);
    const Tensor bend = add(slope, mul_scalar(square, 3 * cubic * root_two_over_pi));
    return mul(one_minus(mul(gate, gate)), sub(bend, mul(mul(self, gate), mul(slope, slope))));
  }
};

// x times (x + 3) / 6, that kept within 0 and 1.
struct Hardswish {
  static constexpr const char* name = "hardswish_cpu";
  static constexpr bool is_bent = true;

  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("HardswishBackward0", {saved_tensor("self")});
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec =
        node_spec("HardswishBackwardBackward0", {saved_tensor("grad_output"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t) const { return {}; }
  template <class T>
  T operator()(T x) const {
    return x * std::fmin(std::fmax(x + T(3), T(0)), T(6)) / T(6);
  }
  template <class T>
  T pull(T gradient, T x) const {
    if (x <= T(-3)) return T(0);
    return x < T(3) ? gradient * (x / T(3) + T(0.5)) : gradient;
  }
  Tensor second(G arriving, G gradient, G self) const {
    const Tensor is_inside = logical_and(is_above(self, -3), compare_number(Comparison::lt, self, 3));
    return where(is_inside, mul_scalar(mul(arriving, gradient), 1.0 / 3), zero_of(self));
  }
};

}  // namespace

Tensor softplus(const Tensor& a, const Scalar& beta, const Scalar& threshold) {
  return activate(Softplus{beta, threshold}, a);
}
Tensor elu(const Tensor& a, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return activate(Elu{alpha, scale, input_scale}, a);
}
Tensor elu_in_place(const Tensor& target, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return activate_in_place_by_result(Elu{alpha, scale, input_scale, true}, target, Elu::in_place_spec(),
                                     refuse_negative<Elu>);
}
Tensor celu(const Tensor& a, const Scalar& alpha) { return activate(celu_of(alpha, false), a); }
Tensor celu_in_place(const Tensor& target, const Scalar& alpha) {
  return activate_in_place_by_result(celu_of(alpha, true), target, Celu::in_place_spec(), refuse_negative<Celu>);
}
Tensor gelu(const Tensor& a, bool by_tanh) { return activate(Gelu{by_tanh}, a); }
Tensor hardswish(const Tensor& a) { return activate(Hardswish{}, a); }
Tensor hardswish_in_place(const Tensor& target) { return activate_in_place(Hardswish{}, target); }

}  // namespace gradlife::ops
