// threshold: elements above a bound, another value elsewhere.
#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/overlap.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/layers.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

const std::vector<SavedField> fields{saved_number("threshold"), saved_tensor("self")};
const NodeSpec& threshold_spec = node_spec("ThresholdBackward0", fields);
const NodeSpec& gradient_spec = node_spec("ThresholdBackwardBackward0", fields);

// Returns `passed` where x is above the bound, `instead` elsewhere.
Tensor chosen(const Tensor& passed, const Tensor& x, const Scalar& bound, const Scalar& instead) {
  Tensor result = kernels::allocate_result(x->sizes(), x->dtype(), {passed.get(), x.get()});
  kernels::dispatch_numbers(x->dtype(), "threshold_cpu", [&](auto zero) {
    using T = decltype(zero);
    const T limit = bound.to<T>(), other = instead.to<T>();
    kernels::map<T>(*result, kernels::Operand<T>(*passed), kernels::Operand<T>(*x),
                    [limit, other](T p, T value) { return value <= limit ? other : p; });
  });
  return result;
}

Tensor gradient_of_threshold(const Tensor& gradient, const Tensor& self, const Scalar& bound);

// The node of the function and of its gradient, which masks in the same way. Slot: self.
class ThresholdNode final : public OpNode<1> {
 public:
  ThresholdNode(const NodeSpec& spec, const Scalar& bound) : OpNode<1>(spec), bound_(bound) {}
  SavedValue saved_value(size_t) const override { return saved(bound_); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor self = unpack(0);
    if (needs(0)) results[0] = gradient_of_threshold(gradient, self, bound_);
    if (needs(1)) results[1] = zeros_like(gradient);
  }

 private:
  Scalar bound_;
};

Tensor gradient_of_threshold(const Tensor& gradient, const Tensor& self, const Scalar& bound) {
  const auto node = start_recording<ThresholdNode>({&gradient, &self}, gradient_spec, bound);
  if (node) node->save_input(0, self);
  Tensor result = chosen(gradient, self, bound, 0);
  if (node) set_history(result, node.owner);
  return result;
}

}  // namespace

Tensor threshold(const Tensor& a, const Scalar& threshold, const Scalar& value) {
  Recording<ThresholdNode> node;
  if (is_floating(a->dtype())) node = start_recording<ThresholdNode>({&a}, threshold_spec, threshold);
  if (node) node->save_input(0, a);
  Tensor result = chosen(a, a, threshold, value);
  if (node) set_history(result, node.owner);
  return result;
}

}  // namespace gradlife::ops
