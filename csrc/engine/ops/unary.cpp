// Element-wise functions of one tensor: the application of a rule, and the elementary functions.
#include "engine/ops/unary.hpp"

#include <cctype>
#include <cmath>
#include <string>

#include "engine/ops/kernels/overlap.hpp"

namespace gradlife::ops {
namespace {

class UnaryNode final : public OpNode<1> {
 public:
  explicit UnaryNode(const UnaryRule& rule) : OpNode<1>(rule.spec), rule_(rule) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor saved = rule_.saves != Saves::nothing ? defined(unpack(0), rule_.spec.fields[0].argument) : Tensor();
    results[0] = rule_.gradient(gradient, saved);
  }

 private:
  const UnaryRule& rule_;
};

DType output_dtype(const UnaryRule& rule, const TensorImpl& input) {
  return is_differentiable(input.dtype()) || rule.keeps_integers ? input.dtype() : DType::float32;
}

// Returns the name in `aten`: "sin.default" for SinBackward0.
std::string name_of(const UnaryRule& rule, const char* ending) {
  std::string name = rule.spec.name;
  name.resize(name.rfind("Backward"));
  for (char& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name + ending + ".default";
}

Tensor computed(const UnaryRule& rule, const Tensor& input) {
  Tensor result = kernels::allocate_result(input->sizes(), output_dtype(rule, *input), {input.get()});
  rule.kernel(*result, input);
  return result;
}

void overwrite(const UnaryRule& rule, const Tensor& target) {
  if (!target->is_conjugate()) return rule.kernel(*target, target);
  const Tensor plain = kernels::allocate_like(*target, target->dtype());
  rule.kernel(*plain, target);
  kernels::copy(*target, *plain);
}

}  // namespace

Tensor apply(const UnaryRule& rule, const Tensor& input) {
  const auto node = start_recording<UnaryNode>({&input}, rule);
  if (node && rule.saves == Saves::self) node->save_input(0, input);
  const Tensor result =
      operation_watcher() != nullptr ? only(ask_watcher(name_of(rule, "").c_str(), input)) : computed(rule, input);
  if (!node) return result;
  set_history(result, node.owner);
  if (rule.saves == Saves::result) node->save_output(0, result);
  return result;
}

Tensor apply_in_place(const UnaryRule& rule, const Tensor& target) {
  check_inplace(target, needs_graph({&target}));
  const auto node = start_recording<UnaryNode>({&target}, rule);
  if (node && rule.saves == Saves::self) node->save_input(0, clone(target));
  refuse_overlap(*target);
  refuse_cast(output_dtype(rule, *target), *target);
  if (operation_watcher() != nullptr) {
    ask_watcher(name_of(rule, "_").c_str(), target);
  } else {
    overwrite(rule, target);
  }
  finish_in_place(target, node);
  if (node && rule.saves == Saves::result) node->save_output(0, target, true);
  return target;
}

namespace {

GRADLIFE_COMPLEX_FUNCTION(Neg, "neg_cpu", -x)
GRADLIFE_COMPLEX_FUNCTION(Exp, "exp_cpu", std::exp(x))
GRADLIFE_COMPLEX_FUNCTION(Log, "log_cpu", std::log(x))
GRADLIFE_COMPLEX_FUNCTION(Sin, "sin_cpu", std::sin(x))
GRADLIFE_COMPLEX_FUNCTION(Cos, "cos_cpu", std::cos(x))
GRADLIFE_COMPLEX_FUNCTION(Tanh, "tanh_cpu", std::tanh(x))
GRADLIFE_FUNCTION(Relu, "relu_cpu", x < T(0) ? T(0) : x)  // in this order a nan stays one
GRADLIFE_COMPLEX_FUNCTION(Sqrt, "sqrt_cpu", std::sqrt(x))
GRADLIFE_COMPLEX_FUNCTION(Sigmoid, "sigmoid_cpu", T(1) / (T(1) + std::exp(-x)))
GRADLIFE_FUNCTION(Abs, "abs_cpu", std::is_integral_v<T> ? (x < T(0) ? -x : x) : T(std::fabs(x)))
GRADLIFE_COMPLEX_FUNCTION(Reciprocal, "reciprocal_cpu", T(1) / x)

template <class F>
void combine(const TensorImpl& out, const Tensor& gradient, const Tensor& output, F f) {
  const auto body = [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(out, kernels::Operand<T>(*gradient), kernels::Operand<T>(*output), f);
  };
  if constexpr (kernels::takes_complex<F>)
    if (is_complex(out.dtype())) return kernels::dispatch_complex(out.dtype(), body);
  kernels::dispatch_floats(out.dtype(), "backward_cpu", body);
}

// Gradients that are a function of the gradient and the saved result, and have nodes of their own for the next order.
struct BackwardRule {
  const NodeSpec& spec;
  void (*kernel)(const TensorImpl& out, const Tensor& gradient, const Tensor& output);
  Tensor (*by_output)(const Tensor& arriving, const Tensor& gradient, const Tensor& output);
};

Tensor apply_backward(const BackwardRule& rule, const Tensor& gradient, const Tensor& output);

class BackwardNode final : public OpNode<2> {
 public:
  explicit BackwardNode(const BackwardRule& rule) : OpNode<2>(rule.spec), rule_(rule) {}

 protected:
  void differentiate(const Tensor& arriving, TensorList& results) override {
    const Tensor gradient = unpack(0);
    const Tensor output = unpack(1);
    if (needs(0)) results[0] = apply_backward(rule_, arriving, conj(output));
    if (needs(1)) results[1] = rule_.by_output(conj(arriving), gradient, conj(output));
  }

 private:
  const BackwardRule& rule_;
};

Tensor apply_backward(const BackwardRule& rule, const Tensor& gradient, const Tensor& output) {
  const auto node = start_recording<BackwardNode>({&gradient, &output}, rule);
  if (node && needs_graph({&output})) node->save_input(0, gradient);
  if (node) node->save_input(1, output);
  const Dims sizes = kernels::broadcast_sizes(gradient->sizes(), output->sizes());
  Tensor result = kernels::allocate_result(sizes, output->dtype(), {gradient.get(), output.get()});
  rule.kernel(*result, gradient, output);
  if (node) set_history(result, node.owner);
  return result;
}

template <class T>
T conjugated(T value) {
  if constexpr (is_complex_type<T>) return std::conj(value);
  return value;
}

struct TanhSlope {
  using TakesComplex = void;
  template <class T>
  T operator()(T gradient, T output) const {
    return gradient * conjugated(T(1) - output * output);
  }
};

struct SigmoidSlope {
  using TakesComplex = void;
  template <class T>
  T operator()(T gradient, T output) const {
    return gradient * conjugated(T(1) - output) * conjugated(output);
  }
};

std::vector<SavedField> backward_fields() { return {saved_tensor("grad_output"), saved_tensor("output")}; }

const BackwardRule tanh_backward{node_spec("TanhBackwardBackward0", backward_fields()),
                                 [](const TensorImpl& out, const Tensor& gradient, const Tensor& output) {
                                   combine(out, gradient, output, TanhSlope());
                                 },
                                 [](const Tensor& arriving, const Tensor& gradient, const Tensor& output) {
                                   return mul(arriving, mul(mul_scalar(output, -2), gradient));
                                 }};

const BackwardRule sigmoid_backward{node_spec("SigmoidBackwardBackward0", backward_fields()),
                                    [](const TensorImpl& out, const Tensor& gradient, const Tensor& output) {
                                      combine(out, gradient, output, SigmoidSlope());
                                    },
                                    [](const Tensor& arriving, const Tensor& gradient, const Tensor& output) {
                                      return mul(mul(arriving, gradient), add_number(mul_scalar(output, -2), 1));
                                    }};

class ThresholdBackward final : public OpNode<1> {
 public:
  ThresholdBackward()
      : OpNode<1>([]() -> const NodeSpec& {
          static const NodeSpec& spec =
              node_spec("ThresholdBackwardBackward0", {saved_tensor("self"), saved_number("threshold")});
          return spec;
        }()) {}
  SavedValue saved_value(size_t) const override { return saved(int64_t{0}); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override;
};

// Returns the gradient where the result is positive, 0 elsewhere.
Tensor threshold_backward(const Tensor& gradient, const Tensor& result) {
  const auto node = start_recording<ThresholdBackward>({&gradient, &result});
  if (node) node->save_input(0, result);
  Tensor passed = kernels::allocate_result(result->sizes(), result->dtype(), {gradient.get(), result.get()});
  combine(*passed, gradient, result, [](auto g, auto y) { return y <= decltype(y)(0) ? decltype(g)(0) : g; });
  if (node) set_history(passed, node.owner);
  return passed;
}

void ThresholdBackward::differentiate(const Tensor& gradient, TensorList& results) {
  const Tensor result = unpack(0);
  if (needs(0)) results[0] = threshold_backward(gradient, result);
  if (needs(1)) results[1] = zeros_like(gradient);
}

const std::vector<SavedField> self_field{saved_tensor("self")};
const std::vector<SavedField> result_field{saved_tensor("result")};
const std::vector<SavedField> exp_field{saved_tensor("result", "#1 'other'")};
const std::vector<SavedField> relu_field{saved_tensor("result", "#1 'self'")};
const std::vector<SavedField> output_field{saved_tensor("result", "#1 'output'")};

using G = const Tensor&;
const UnaryRule neg_rule{node_spec("NegBackward0"), Saves::nothing, number_kernel<Neg>,
                         [](G gradient, G) { return neg(gradient); }, true};
const UnaryRule exp_rule{node_spec("ExpBackward0", exp_field), Saves::result, float_kernel<Exp>,
                         [](G gradient, G result) { return mul(gradient, conj(result)); }};
const UnaryRule log_rule{node_spec("LogBackward0", self_field), Saves::self, float_kernel<Log>,
                         [](G gradient, G self) { return div(gradient, conj(self)); }};
const UnaryRule sin_rule{node_spec("SinBackward0", self_field), Saves::self, float_kernel<Sin>,
                         [](G gradient, G self) { return mul(gradient, conj(cos(self))); }};
const UnaryRule cos_rule{node_spec("CosBackward0", self_field), Saves::self, float_kernel<Cos>,
                         [](G gradient, G self) { return mul(gradient, conj(neg(sin(self)))); }};
const UnaryRule tanh_rule{node_spec("TanhBackward0", output_field), Saves::result, float_kernel<Tanh>,
                          [](G gradient, G result) { return apply_backward(tanh_backward, gradient, result); }};
const UnaryRule relu_rule{node_spec("ReluBackward0", relu_field), Saves::result, number_kernel<Relu>,
                          [](G gradient, G result) { return threshold_backward(gradient, result); }, true};
const UnaryRule sqrt_rule{node_spec("SqrtBackward0", result_field), Saves::result, float_kernel<Sqrt>,
                          [](G gradient, G result) { return div(gradient, mul_scalar(conj(result), 2)); }};
const UnaryRule sigmoid_rule{node_spec("SigmoidBackward0", output_field), Saves::result, float_kernel<Sigmoid>,
                             [](G gradient, G result) { return apply_backward(sigmoid_backward, gradient, result); }};
const UnaryRule abs_rule{node_spec("AbsBackward0", self_field), Saves::self, number_kernel<Abs>,
                         [](G gradient, G self) { return mul(gradient, sgn(self)); }, true};
const UnaryRule reciprocal_rule{node_spec("ReciprocalBackward0", result_field), Saves::result, float_kernel<Reciprocal>,
                                [](G gradient, G result) { return mul(neg(gradient), conj(mul(result, result))); }};

void refuse_relu(DType dtype) {
  require(dtype != DType::boolean, "Boolean inputs not supported for relu");
  if (is_complex(dtype)) fail(ErrorKind::not_implemented, "clamp is not supported for complex types");
}

}  // namespace

Tensor neg(const Tensor& a) {
  require(a->dtype() != DType::boolean,
          "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
          "`~` or `logical_not()` operator instead.");
  return apply(neg_rule, a);
}
Tensor exp(const Tensor& a) { return apply(exp_rule, a); }
Tensor log(const Tensor& a) { return apply(log_rule, a); }
Tensor sin(const Tensor& a) { return apply(sin_rule, a); }
Tensor cos(const Tensor& a) { return apply(cos_rule, a); }
Tensor tanh(const Tensor& a) { return apply(tanh_rule, a); }
Tensor relu(const Tensor& a) {
  refuse_relu(a->dtype());
  return apply(relu_rule, a);
}
Tensor sqrt(const Tensor& a) { return apply(sqrt_rule, a); }
Tensor sigmoid(const Tensor& a) { return apply(sigmoid_rule, a); }
Tensor abs(const Tensor& a) {
  if (is_complex(a->dtype())) return complex_magnitude(a);
  refuse_out_form(a, "abs");
  return written(apply(abs_rule, a), a);
}
Tensor reciprocal(const Tensor& a) { return apply(reciprocal_rule, a); }

Tensor neg_in_place(const Tensor& target) { return apply_in_place(neg_rule, target); }
Tensor exp_in_place(const Tensor& target) { return apply_in_place(exp_rule, target); }
Tensor sin_in_place(const Tensor& target) { return apply_in_place(sin_rule, target); }
Tensor tanh_in_place(const Tensor& target) { return apply_in_place(tanh_rule, target); }
Tensor relu_in_place(const Tensor& target) {
  refuse_relu(target->dtype());
  return apply_in_place(relu_rule, target);
}
Tensor sigmoid_in_place(const Tensor& target) { return apply_in_place(sigmoid_rule, target); }

namespace {

GRADLIFE_COMPLEX_FUNCTION(Rsqrt, "rsqrt_cpu", T(1) / std::sqrt(x))

}  // namespace

const UnaryRule rsqrt_rule = float_rule<Rsqrt>("RsqrtBackward0", Saves::result, [](G gradient, G result) {
  return mul(mul_scalar(gradient, -0.5), conj(pow_scalar(result, 3)));
});

}  // namespace gradlife::ops
