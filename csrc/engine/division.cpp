// Division of whole numbers: rounded quotients, and what they leave.
#include <cmath>

#include "engine/binary.hpp"
#include "engine/integers.hpp"
#include "engine/undifferentiable.hpp"

namespace gradlife::ops {
namespace {

template <class T>
void refuse_zero(T divisor) {
  if constexpr (std::is_integral_v<T>) require(divisor != 0, "ZeroDivisionError");
}

// The lowest integer divided by -1 is one too many for its type: it wraps, as a product does.
template <class T>
T negated(T value) {
  return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(value));
}

struct Truncate {
  static constexpr const char* name = "div_trunc_cpu";
  template <class T>
  T operator()(T a, T b) const {
    refuse_zero(b);
    if constexpr (std::is_integral_v<T>) {
      return b == -1 ? negated(a) : static_cast<T>(a / b);
    } else {
      return std::trunc(a / b);
    }
  }
};

struct Fmod {
  static constexpr const char* name = "fmod_cpu";
  template <class T>
  T operator()(T a, T b) const {
    refuse_zero(b);
    if constexpr (std::is_integral_v<T>) {
      return b == -1 ? T(0) : static_cast<T>(a % b);
    } else {
      return std::fmod(a, b);
    }
  }
};

struct Remainder {
  static constexpr const char* name = "remainder_cpu";
  template <class T>
  T operator()(T a, T b) const {
    const T rest = Fmod()(a, b);
    return rest != T(0) && (b < T(0)) != (rest < T(0)) ? static_cast<T>(rest + b) : rest;
  }
};

// Through the remainder, which is exact: the quotient of floats next to a whole number would round over it.
struct Floor {
  static constexpr const char* name = "div_floor_cpu";
  template <class T>
  T operator()(T a, T b) const {
    refuse_zero(b);
    if constexpr (std::is_integral_v<T>) {
      if (b == -1) return negated(a);
      const T quotient = static_cast<T>(a / b);
      return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
    } else {
      return floats(a, b);
    }
  }
  template <class T>
  static T floats(T a, T b) {
    if (b == T(0)) return a / b;
    const T rest = std::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
    if (quotient == T(0)) return std::copysign(T(0), a / b);
    const T whole = std::floor(quotient);
    return quotient - whole > T(0.5) ? whole + T(1) : whole;
  }
};

template <class F>
void compute_into(const TensorImpl& out, DType dtype, const TensorImpl& a, const TensorImpl& b, F f) {
  kernels::dispatch_numbers(dtype, F::name, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(out, kernels::Operand<T>(a), kernels::Operand<T>(b), f);
  });
}

template <class F>
Tensor compute(const Tensor& a, const Tensor& b, F f) {
  const DType dtype = kernels::dtype_of(a, b);
  Tensor out = kernels::allocate_for(a, b, dtype);
  compute_into(*out, dtype, *a, *b, f);
  return out;
}

template <class F>
void change(const Tensor& target, const Tensor& other, F f) {
  kernels::check_target(*target, *other);
  const DType dtype = kernels::dtype_of(target, other);
  const Tensor out = dtype == target->dtype() ? target : empty(target->sizes(), dtype);
  compute_into(*out, dtype, *target, *other, f);
  if (out != target) kernels::copy(*target, *out);
}

template <class T, class F>
Tensor finished(const Tensor& a, const Tensor& b, const Recording<T>& node, bool in_place, F f) {
  if (in_place) {
    change(a, b, f);
    finish_in_place(a, node);
    return a;
  }
  Tensor result = compute(a, b, f);
  if (node) set_history(result, node.owner);
  return result;
}

const NodeSpec& rounded_spec =
    node_spec("DivBackward2", {saved_tensor("other"), saved_number("rounding_mode"), saved_tensor("self")});
const NodeSpec& remainder_number_spec = node_spec("RemainderBackward0");
const NodeSpec& remainder_spec = node_spec("RemainderBackward1", {saved_tensor("other"), saved_tensor("self")});
const NodeSpec& fmod_number_spec = node_spec("FmodBackward0");
const NodeSpec& fmod_spec = node_spec("FmodBackward1", {saved_tensor("other"), saved_tensor("self")});

// A rounded quotient is flat nearly everywhere; one that was asked not to round is none. Slots: other, self.
class RoundedNode final : public OpNode<2> {
 public:
  explicit RoundedNode(std::optional<Rounding> rounding) : OpNode<2>(rounded_spec), rounding_(rounding) {}
  SavedValue saved_value(size_t) const override {
    if (!rounding_) return {};
    return saved_text(*rounding_ == Rounding::floor ? "floor" : "trunc");
  }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor other = unpack(0);
    const Tensor self = unpack(1);
    if (needs(0)) results[0] = rounding_ ? zeros_like(gradient) : div(gradient, other);
    if (!needs(1)) return;
    results[1] = rounding_ ? zeros_like(gradient) : mul(neg(gradient), div(div(self, other), other));
  }

 private:
  std::optional<Rounding> rounding_;
};

// Of remainder and fmod: the dividend less so many times the divisor. Slots: other, self.
class RestNode final : public OpNode<2> {
 public:
  RestNode(const NodeSpec& spec, Rounding rounding) : OpNode<2>(spec), rounding_(rounding) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor other = unpack(0);
    const Tensor self = unpack(1);
    if (needs(0)) results[0] = gradient;
    if (needs(1)) results[1] = mul(neg(gradient), div_rounded(self, other, rounding_));
  }

 private:
  Rounding rounding_;
};

class PassNode final : public OpNode<0> {
 public:
  explicit PassNode(const NodeSpec& spec) : OpNode<0>(spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override { results[0] = gradient; }
};

template <class T, class... Args>
Recording<T> two_tensors(const Tensor& a, const Tensor& b, bool in_place, Args&&... args) {
  if (in_place) check_inplace(a, needs_graph({&a, &b}));
  auto node = start_recording<T>({&a, &b}, std::forward<Args>(args)...);
  return node;
}

Recording<PassNode> one_tensor(const Tensor& a, bool in_place, const NodeSpec& spec) {
  if (in_place) check_inplace(a, needs_graph({&a}));
  return start_recording<PassNode>({&a}, spec);
}

Recording<RestNode> rest_node(const NodeSpec& spec, Rounding rounding, const Tensor& a, const Tensor& b,
                              bool in_place) {
  auto node = two_tensors<RestNode>(a, b, in_place, spec, rounding);
  if (node && node->should_compute_output(1)) node->save_input(0, b);
  if (node && node->should_compute_output(1)) node->save_input(1, in_place ? clone(a) : a);
  return node;
}

}  // namespace

namespace {

Recording<RoundedNode> rounded_node(const Tensor& a, const Tensor& b, std::optional<Rounding> rounding, bool in_place) {
  auto node = two_tensors<RoundedNode>(a, b, in_place, rounding);
  if (node) node->save_input(0, b);
  if (node && node->should_compute_output(1)) node->save_input(1, in_place ? clone(a) : a);
  return node;
}

}  // namespace

Tensor div_unrounded(const Tensor& a, const Tensor& b, bool in_place) {
  const auto node = rounded_node(a, b, std::nullopt, in_place);
  const GradMode off(false);
  const Tensor result = in_place ? div_in_place(a, b) : div(a, b);
  if (node) in_place ? rebase_history(a, node.owner) : set_history(result, node.owner);
  return result;
}

Tensor div_rounded(const Tensor& a, const Tensor& b, Rounding rounding, bool in_place) {
  const auto node = rounded_node(a, b, rounding, in_place);
  return rounding == Rounding::floor ? finished(a, b, node, in_place, Floor())
                                     : finished(a, b, node, in_place, Truncate());
}

Tensor floor_divide(const Tensor& a, const Tensor& b, bool in_place) {
  if (in_place) check_inplace(a, needs_graph({&a, &b}));
  const char* name = in_place ? "floor_divide_" : "floor_divide";
  const Recording<Node> node{b->is_wrapped_number()   ? undifferentiable_node({&a}, name)
                             : a->is_wrapped_number() ? undifferentiable_node({&b}, name)
                                                      : undifferentiable_node({&a, &b}, name)};
  return finished(a, b, node, in_place, Floor());
}

Tensor remainder(const Tensor& a, const Tensor& b, bool in_place) {
  return finished(a, b, rest_node(remainder_spec, Rounding::floor, a, b, in_place), in_place, Remainder());
}

Tensor fmod(const Tensor& a, const Tensor& b, bool in_place) {
  return finished(a, b, rest_node(fmod_spec, Rounding::truncate, a, b, in_place), in_place, Fmod());
}

Tensor remainder_number(const Tensor& a, const Scalar& b, bool in_place) {
  return finished(a, wrapped_number(b), one_tensor(a, in_place, remainder_number_spec), in_place, Remainder());
}

Tensor fmod_number(const Tensor& a, const Scalar& b, bool in_place) {
  return finished(a, wrapped_number(b), one_tensor(a, in_place, fmod_number_spec), in_place, Fmod());
}

Tensor number_remainder(const Scalar& a, const Tensor& b) {
  return undifferentiable(compute(wrapped_number(a), b, Remainder()), {&b}, "remainder");
}

}  // namespace gradlife::ops
