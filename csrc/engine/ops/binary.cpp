// The four arithmetic operations, with tensors and with numbers.
#include "engine/ops/binary.hpp"

#include "engine/backward/op_node.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;
using kernels::compute;
using Other = kernels::TensorOrNumber;

struct Plus {
  using TakesComplex = void;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Minus {
  using TakesComplex = void;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a - b);
  }
};
struct Times {
  using TakesComplex = void;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a * b);
  }
};
struct Over {
  using TakesComplex = void;
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct PlusScaled {
  using TakesComplex = void;
  Scalar alpha;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + alpha.to<T>() * b);
  }
};
struct MinusScaled {
  using TakesComplex = void;
  Scalar alpha;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a - alpha.to<T>() * b);
  }
};

// Reversed: number minus the tensor.
struct FromNumber {
  using TakesComplex = void;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(b - a);
  }
};
struct FromNumberScaled {
  using TakesComplex = void;
  Scalar alpha;
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(b - alpha.to<T>() * a);
  }
};

Tensor times(const Tensor& tensor, const Scalar& alpha) { return alpha.is(1) ? tensor : mul_scalar(tensor, alpha); }

// AddBackward0, AddBackward1, SubBackward0, SubBackward1, RsubBackward1: linear, with the factors 1 and alpha.
class SumNode final : public OpNode<0> {
 public:
  enum class Sign : uint8_t { plus, minus, reversed };
  SumNode(const NodeSpec& spec, Sign sign, const Scalar& alpha) : OpNode<0>(spec), alpha_(alpha), sign_(sign) {}
  SavedValue saved_value(size_t) const override { return saved(alpha_); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    if (sign_ == Sign::reversed) {
      results[0] = times(neg(gradient), conj(alpha_));
      return;
    }
    if (needs(0)) results[0] = gradient;
    if (needs(1)) results[1] = times(sign_ == Sign::minus ? neg(gradient) : gradient, conj(alpha_));
  }

 private:
  Scalar alpha_;
  Sign sign_;
};

const NodeSpec& add_spec = node_spec("AddBackward0", {saved_number("alpha")});
const NodeSpec& sub_spec = node_spec("SubBackward0", {saved_number("alpha")});
const NodeSpec& add_scalar_spec = node_spec("AddBackward1");
const NodeSpec& sub_scalar_spec = node_spec("SubBackward1");
const NodeSpec& rsub_spec = node_spec("RsubBackward1", {saved_number("alpha")});

struct Product {
  inline static const NodeSpec& spec = node_spec("MulBackward0", {saved_tensor("other"), saved_tensor("self")});
  static constexpr size_t first_input = 1;
  static Tensor first(G gradient, G, G self) { return mul(gradient, conj(self)); }
  static Tensor second(G gradient, G other, G) { return mul(gradient, conj(other)); }
};
using MulNode = PairNode<Product>;

struct Quotient {
  inline static const NodeSpec& spec = node_spec("DivBackward0", {saved_tensor("other"), saved_tensor("self")});
  static constexpr size_t first_input = 1;
  static Tensor first(G gradient, G other, G self) { return mul(neg(gradient), conj(div(div(self, other), other))); }
  static Tensor second(G gradient, G other, G) { return div(gradient, conj(other)); }
};
using DivNode = PairNode<Quotient>;

struct TimesNumber {
  Scalar factor;
  inline static const NodeSpec& spec = node_spec("MulBackward1", {saved_number("other")});
  SavedValue value(size_t) const { return saved(factor); }
  Tensor gradient(const Tensor& gradient) const { return mul_scalar(gradient, conj(factor)); }
};

struct OverNumber {
  Scalar divisor;
  inline static const NodeSpec& spec = node_spec("DivBackward1", {saved_number("other")});
  SavedValue value(size_t) const { return saved(divisor); }
  Tensor gradient(const Tensor& gradient) const { return div_scalar(gradient, conj(divisor)); }
};

DType quotient_dtype(DType dtype) { return is_differentiable(dtype) ? dtype : DType::float32; }

void refuse_bool_difference(const TensorImpl& a, bool other_is_bool) {
  if (a.dtype() != DType::boolean && !other_is_bool) return;
  const bool both = a.dtype() == DType::boolean && other_is_bool;
  fail(ErrorKind::runtime, "Subtraction, the `-` operator, with ", both ? "two bool tensors" : "a bool tensor",
       " is not supported. ",
       both ? "Use the `^` or `logical_xor()` operator instead."
            : "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.");
}

Tensor sum_of(const Tensor& a, const Other& b, const Scalar& alpha) {
  return lowered(
      "add.Tensor", [&] { return alpha.is(1) ? compute(a, b, Plus()) : compute(a, b, PlusScaled{alpha}); }, a, b,
      alpha);
}

Tensor difference_of(const Tensor& a, const Other& b, const Scalar& alpha) {
  return lowered(
      "sub.Tensor", [&] { return alpha.is(1) ? compute(a, b, Minus()) : compute(a, b, MinusScaled{alpha}); }, a, b,
      alpha);
}

Tensor product_of(const char* name, const Tensor& a, const Other& b) {
  return lowered(name, [&] { return compute(a, b, Times()); }, a, b);
}

Tensor quotient_of(const char* name, const Tensor& a, const Other& b) {
  const DType dtype = quotient_dtype(kernels::dtype_of(a, b));
  return lowered(name, [&] { return kernels::compute_floats(a, b, dtype, Over()); }, a, b);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const auto node = start_recording<SumNode>({&a, &b}, add_spec, SumNode::Sign::plus, alpha);
  return with_history(sum_of(a, b, alpha), node.owner);
}

Tensor add_number(const Tensor& a, const Scalar& term, const Scalar& alpha) {
  const auto node = start_recording<SumNode>({&a, &number_operand}, add_spec, SumNode::Sign::plus, alpha);
  return with_history(sum_of(a, term, alpha), node.owner);
}

Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  refuse_bool_difference(*a, b->dtype() == DType::boolean);
  const auto node = start_recording<SumNode>({&a, &b}, sub_spec, SumNode::Sign::minus, alpha);
  return with_history(difference_of(a, b, alpha), node.owner);
}

Tensor sub_number(const Tensor& a, const Scalar& term, const Scalar& alpha) {
  refuse_bool_difference(*a, term.kind == Scalar::Kind::boolean);
  const auto node = start_recording<SumNode>({&a, &number_operand}, sub_spec, SumNode::Sign::minus, alpha);
  return with_history(difference_of(a, term, alpha), node.owner);
}

Tensor add_scalar(const Tensor& a, const Scalar& term) {
  const auto node = start_recording<SumNode>({&a}, add_scalar_spec, SumNode::Sign::plus, Scalar(1));
  return with_history(lowered("add.Scalar", [&] { return compute(a, term, Plus()); }, a, term), node.owner);
}

Tensor sub_scalar(const Tensor& a, const Scalar& term) {
  const auto node = start_recording<SumNode>({&a}, sub_scalar_spec, SumNode::Sign::plus, Scalar(1));
  return with_history(lowered("sub.Scalar", [&] { return compute(a, term, Minus()); }, a, term), node.owner);
}

Tensor rsub_number(const Scalar& minuend, const Tensor& a, const Scalar& alpha) {
  refuse_bool_difference(*a, minuend.kind == Scalar::Kind::boolean);
  const auto node = start_recording<SumNode>({&a}, rsub_spec, SumNode::Sign::reversed, alpha);
  return with_history(lowered(
                          "rsub.Scalar",
                          [&] {
                            return alpha.is(1) ? compute(a, minuend, FromNumber())
                                               : compute(a, minuend, FromNumberScaled{alpha});
                          },
                          a, minuend, alpha),
                      node.owner);
}

Tensor mul(const Tensor& a, const Tensor& b) {
  const auto node = start_recording<MulNode>({&a, &b});
  save_two(node, b, 0, a, 1);
  return with_history(product_of("mul.Tensor", a, b), node.owner);
}

Tensor mul_number(const Tensor& a, const Scalar& factor) {
  return needs_graph({&a, &number_operand}) ? mul(a, wrapped_number(factor)) : product_of("mul.Tensor", a, factor);
}

Tensor mul_scalar(const Tensor& a, const Scalar& factor) {
  return recorded(product_of("mul.Scalar", a, factor), a, TimesNumber{factor});
}

Tensor div(const Tensor& a, const Tensor& b) {
  const auto node = start_recording<DivNode>({&a, &b});
  save_two(node, b, -1, a, 1);
  return with_history(quotient_of("div.Tensor", a, b), node.owner);
}

Tensor div_number(const Tensor& a, const Scalar& divisor) {
  if (needs_graph({&a, &number_operand})) return div(a, wrapped_number(divisor));
  return quotient_of("div.Tensor", a, divisor);
}

Tensor div_scalar(const Tensor& a, const Scalar& divisor) {
  return recorded(quotient_of("div.Scalar", a, divisor), a, OverNumber{divisor});
}

namespace {

void change_sum(const Tensor& target, const Tensor& other, const Scalar& alpha, bool minus) {
  if (minus) {
    alpha.is(1) ? kernels::change(target, other, Minus()) : kernels::change(target, other, MinusScaled{alpha});
  } else {
    alpha.is(1) ? kernels::change(target, other, Plus()) : kernels::change(target, other, PlusScaled{alpha});
  }
}

Tensor sum_in_place(const Tensor& target, const Tensor& other, const Scalar& alpha, bool minus) {
  check_inplace(target, needs_graph({&target, &other}));
  if (minus) refuse_bool_difference(*target, other->dtype() == DType::boolean);
  const auto sign = minus ? SumNode::Sign::minus : SumNode::Sign::plus;
  const auto node = start_recording<SumNode>({&target, &other}, minus ? sub_spec : add_spec, sign, alpha);
  kernels::check_target(*target, *other);
  lowered_change(
      minus ? "sub_.Tensor" : "add_.Tensor", [&] { change_sum(target, other, alpha, minus); }, target, other, alpha);
  finish_in_place(target, node);
  return target;
}

}  // namespace

Tensor add_in_place(const Tensor& target, const Tensor& other, const Scalar& alpha) {
  return sum_in_place(target, other, alpha, false);
}

Tensor sub_in_place(const Tensor& target, const Tensor& other, const Scalar& alpha) {
  return sum_in_place(target, other, alpha, true);
}

Tensor mul_in_place(const Tensor& target, const Tensor& other) {
  check_inplace(target, needs_graph({&target, &other}));
  const auto node = start_recording<MulNode>({&target, &other});
  save_two(node, other, 0, node && node->should_compute_output(1) ? clone(target) : target, 1);
  kernels::check_target(*target, *other);
  lowered_change("mul_.Tensor", [&] { kernels::change(target, other, Times()); }, target, other);
  finish_in_place(target, node);
  return target;
}

Tensor div_in_place(const Tensor& target, const Tensor& other) {
  check_inplace(target, needs_graph({&target, &other}));
  const auto node = start_recording<DivNode>({&target, &other});
  save_two(node, other, -1, node && node->should_compute_output(1) ? clone(target) : target, 1);
  kernels::check_target(*target, *other);
  refuse_cast(quotient_dtype(kernels::result_dtype({target.get(), other.get()})), *target);
  lowered_change("div_.Tensor", [&] { kernels::change(target, other, Over()); }, target, other);
  finish_in_place(target, node);
  return target;
}

}  // namespace gradlife::ops
