// Functions of two tensors besides arithmetic: atan2, hypot, logaddexp, xlogy.
#include <cmath>

#include "engine/binary.hpp"
#include "engine/elementwise.hpp"
#include "engine/op_node.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

// A function with its gradients by both operands. `result` is there for functions that save it.
struct PairRule {
  const char* name;  // of the kernel
  const NodeSpec& spec;
  bool takes_integers;  // and makes floats of them
  bool saves_result;    // then an operand is only saved where the gradient by itself is needed
  Tensor (*by_first)(G gradient, G self, G other, G result);
  Tensor (*by_second)(G gradient, G self, G other, G result);
};

std::vector<SavedField> both_fields() { return {saved_tensor("other"), saved_tensor("self")}; }

// Slots: other, self, result.
class PairNode final : public OpNode<3> {
 public:
  explicit PairNode(const PairRule& rule) : OpNode<3>(rule.spec), rule_(rule) {}
  // `overwritten`: `a` is the target of an in-place change, so that a copy of it is saved.
  void save_operands(G a, G b, bool overwritten = false) {
    if (!rule_.saves_result || should_compute_output(1)) save_input(0, b);
    if (!rule_.saves_result || should_compute_output(0)) save_input(1, overwritten ? clone(a) : a);
  }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor other = unpack(0);
    const Tensor self = unpack(1);
    const Tensor result = rule_.saves_result ? unpack(2) : Tensor();
    if (needs(0)) results[0] = rule_.by_first(gradient, self, other, result);
    if (needs(1)) results[1] = rule_.by_second(gradient, self, other, result);
  }

 private:
  const PairRule& rule_;
};

struct Atan2 {
  template <class T>
  T operator()(T a, T b) const {
    return std::atan2(a, b);
  }
};
struct Hypot {
  template <class T>
  T operator()(T a, T b) const {
    return std::hypot(a, b);
  }
};
struct LogAddExp {
  template <class T>
  T operator()(T a, T b) const {
    if (std::isinf(a) && a == b) return a;
    const T larger = std::fmax(a, b);
    return std::isnan(a) || std::isnan(b) ? a + b : larger + std::log1p(std::exp(-std::fabs(a - b)));
  }
};
struct Xlogy {
  template <class T>
  T operator()(T a, T b) const {
    if (std::isnan(b)) return b;
    return a == T(0) ? T(0) : a * std::log(b);
  }
};

Tensor masked(G tensor, G mask) { return where(mask, full({}, 0.0, tensor->dtype()), tensor); }

// 1 / (a² + b²), and 0 where both are 0.
Tensor inverse_square(G a, G b) {
  const Tensor inverse = reciprocal(add(mul(a, a), mul(b, b)));
  return masked(inverse, compare_number(Comparison::eq, add(mul(a, a), mul(b, b)), 0));
}

Tensor share(G gradient, G own, G other) { return div(gradient, add_scalar(exp(sub(other, own)), 1)); }

Tensor log_share(G gradient, G self, G other) {
  const Tensor is_flat = logical_and(compare_number(Comparison::eq, self, 0), compare_number(Comparison::le, other, 0));
  return masked(xlogy(gradient, other), is_flat);
}

const PairRule atan2_rule{
    "atan2_cpu",
    node_spec("Atan2Backward0", both_fields()),
    true,
    false,
    [](G gradient, G self, G other, G) { return mul(mul(gradient, other), inverse_square(self, other)); },
    [](G gradient, G self, G other, G) { return mul(mul(gradient, neg(self)), inverse_square(self, other)); }};
const PairRule hypot_rule{
    "hypot_cpu",
    node_spec("HypotBackward0", {saved_tensor("other"), saved_tensor("self"), saved_tensor("result")}),
    false,
    true,
    [](G gradient, G self, G, G result) { return div(mul(gradient, self), result); },
    [](G gradient, G, G other, G result) { return div(mul(gradient, other), result); }};
const PairRule logaddexp_rule{"logaddexp_cpu",
                              node_spec("LogaddexpBackward0", both_fields()),
                              false,
                              false,
                              [](G gradient, G self, G other, G) { return share(gradient, self, other); },
                              [](G gradient, G self, G other, G) { return share(gradient, other, self); }};
const PairRule xlogy_rule{"xlogy_cpu",
                          node_spec("XlogyBackward0", both_fields()),
                          true,
                          false,
                          [](G gradient, G self, G other, G) { return log_share(gradient, self, other); },
                          [](G gradient, G self, G other, G) { return div(mul(gradient, self), other); }};

DType dtype_for(bool takes_integers, DType dtype) {
  return is_floating(dtype) || !takes_integers ? dtype : DType::float32;
}

template <class F>
Tensor apply_pair(const PairRule& rule, G a, G b, F f) {
  const auto node = start_recording<PairNode>({&a, &b}, rule);
  if (node) node->save_operands(a, b);
  const DType dtype = dtype_for(rule.takes_integers, kernels::result_dtype({a.get(), b.get()}));
  Tensor result = kernels::compute_floats(a, b, dtype, f, rule.name);
  if (!node) return result;
  set_history(result, node.owner);
  if (rule.saves_result) node->save_output(2, result);
  return result;
}

template <class F>
Tensor apply_pair_in_place(const PairRule& rule, G target, G other, F f) {
  check_inplace(target, needs_graph({&target, &other}));
  const auto node = start_recording<PairNode>({&target, &other}, rule);
  if (node) node->save_operands(target, other, true);
  kernels::check_target(*target, *other);
  const DType dtype = dtype_for(rule.takes_integers, kernels::result_dtype({target.get(), other.get()}));
  refuse_cast(dtype, *target);
  const Tensor out = dtype == target->dtype() ? target : empty(target->sizes(), dtype);
  kernels::compute_floats_into(out, target, other, f, rule.name);
  if (out != target) kernels::copy(*target, *out);
  finish_in_place(target, node);
  if (node && rule.saves_result) node->save_output(2, target, true);
  return target;
}

}  // namespace

Tensor atan2(const Tensor& a, const Tensor& b) { return apply_pair(atan2_rule, a, b, Atan2()); }
Tensor hypot(const Tensor& a, const Tensor& b) { return apply_pair(hypot_rule, a, b, Hypot()); }
Tensor logaddexp(const Tensor& a, const Tensor& b) { return apply_pair(logaddexp_rule, a, b, LogAddExp()); }
Tensor xlogy(const Tensor& a, const Tensor& b) { return apply_pair(xlogy_rule, a, b, Xlogy()); }
Tensor atan2_in_place(const Tensor& target, const Tensor& other) {
  return apply_pair_in_place(atan2_rule, target, other, Atan2());
}
Tensor hypot_in_place(const Tensor& target, const Tensor& other) {
  return apply_pair_in_place(hypot_rule, target, other, Hypot());
}
Tensor xlogy_in_place(const Tensor& target, const Tensor& other) {
  return apply_pair_in_place(xlogy_rule, target, other, Xlogy());
}

}  // namespace gradlife::ops
