// Nodes with one input that save it, their result, or both, besides plain values.
#pragma once

#include "engine/backward/op_node.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {

// The rule of such a node:
//   static constexpr bool saves_result, saves_self;
//   inline static const NodeSpec& spec;  // of its tensor fields `result` comes before `self`
//   SavedValue value(size_t field) const;
//   Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor& result) const;
template <class Rule>
class SavingNode final : public OpNode<Rule::saves_result + Rule::saves_self> {
 public:
  static constexpr size_t self_slot = Rule::saves_result ? 1 : 0;
  explicit SavingNode(Rule rule) : OpNode<Rule::saves_result + Rule::saves_self>(Rule::spec), rule_(std::move(rule)) {}
  SavedValue saved_value(size_t field) const override { return rule_.value(field); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor self = Rule::saves_self ? defined(this->unpack(self_slot)) : Tensor();
    const Tensor result = Rule::saves_result ? defined(this->unpack(0)) : Tensor();
    results[0] = rule_.gradient(gradient, self, result);
  }
  void unpack_all() override {
    if (Rule::saves_self) this->unpack(self_slot);
    if (Rule::saves_result) this->unpack(0);
  }

 private:
  Rule rule_;
};

// Runs compute(), recorded as a node of `input`.
template <class Rule, class Compute>
Tensor record_saving(const Tensor& input, Rule rule, Compute compute) {
  const auto node = start_recording<SavingNode<Rule>>({&input}, std::move(rule));
  if (node && Rule::saves_self) node->save_input(SavingNode<Rule>::self_slot, input);
  Tensor result = compute();
  if (!node) return result;
  set_history(result, node.owner);
  if (Rule::saves_result) node->save_output(0, result);
  return result;
}

}  // namespace gradlife::ops
