// The common base of operations' nodes: a name, inline saved slots, and how they are recorded.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "engine/backward/backward.hpp"
#include "engine/backward/views.hpp"
#include "engine/graph/saved_slot.hpp"
#include "engine/policy/release_texts.hpp"
#include "engine/tensor/scalar.hpp"

namespace gradlife::ops {

// Lives as long as the process: nodes that outlive the interpreter still need their names.
inline const NodeSpec& node_spec(const char* name, std::vector<SavedField> fields = {}) {
  return *new NodeSpec{name, std::move(fields)};
}
constexpr SavedField saved_tensor(const char* name, const char* argument = first_argument) {
  return {name, SavedField::Type::tensor, argument};
}
constexpr SavedField saved_number(const char* name) { return {name, SavedField::Type::value}; }

inline SavedValue saved(const Scalar& value) {
  SavedValue result;
  result.type = value.is_real()                       ? SavedValue::Type::real
                : value.kind == Scalar::Kind::complex ? SavedValue::Type::complex
                : value.kind == Scalar::Kind::boolean ? SavedValue::Type::boolean
                                                      : SavedValue::Type::integer;
  result.integer = value.integer;
  result.real = value.real;
  result.imaginary = value.imaginary;
  return result;
}
inline SavedValue saved(bool value) { return saved(Scalar::boolean(value)); }
inline SavedValue saved(int64_t value) {
  SavedValue result = saved(Scalar(value));
  result.type = SavedValue::Type::index;
  return result;
}
inline SavedValue saved(const Dims& sizes) {
  SavedValue result;
  result.type = SavedValue::Type::sizes;
  result.sizes = sizes;
  return result;
}

template <class T>
SavedValue saved(const std::optional<T>& value) {
  return value ? saved(*value) : SavedValue();
}

// Refuses what was never saved: an operation in place may raise after its node is in the graph.
inline const Tensor& defined(const Tensor& saved, const char* argument = first_argument) {
  require(static_cast<bool>(saved), text_for(*current_policy(), texts::undefined_tensor), " for argument ", argument);
  return saved;
}

// A node of an operation with `count` saved tensors. Slots are numbered in the order of the tensor fields.
template <size_t count>
class SlotNode : public Node {
 public:
  explicit SlotNode(const NodeSpec& spec) : spec_(spec) {}
  const NodeSpec& spec() const final { return spec_; }
  size_t slot_count() const final { return count; }
  SavedSlot& slot(size_t index) final { return saved_[index]; }
  std::pair<size_t, size_t> slots_of_field(size_t field) const final {
    size_t first = 0;
    for (size_t i = 0; i < field; ++i) first += spec_.fields[i].type == SavedField::Type::tensor ? 1 : 0;
    return {first, first + 1};
  }

  void save_input(size_t index, const Tensor& tensor) { saved_[index] = SavedSlot(tensor, false); }
  // After the history of `tensor` is set. `in_place`: the tensor existed before, so it may be a view.
  void save_output(size_t index, const Tensor& tensor, bool in_place = false) {
    const bool on_view = in_place && tensor->meta() != nullptr && tensor->meta()->view != nullptr;
    saved_[index] = SavedSlot(tensor, true, on_view);
  }

 protected:
  Tensor unpack(size_t index) { return saved_[index].unpack_for(NodePtr::share(this)); }
  // Unpacks the first two slots, in the order in which save_two() packed them.
  std::pair<Tensor, Tensor> unpack_two() {
    const size_t first = has(policy(), traits::packs_in_reverse) ? 1 : 0;
    Tensor earlier = unpack(first), later = unpack(1 - first);
    if (first == 1) std::swap(earlier, later);
    return {std::move(earlier), std::move(later)};
  }
  bool needs(size_t input) const { return should_compute_output(input) && is_wanted(next_edges()[input]); }
  bool needs_any() const {
    for (const Edge& edge : next_edges())
      if (edge && is_wanted(edge)) return true;
    return false;
  }

 private:
  const NodeSpec& spec_;
  std::array<SavedSlot, count> saved_;
};

// A node whose only saved tensors are one list.
class ListNode : public Node {
 public:
  ListNode(const NodeSpec& spec, const TensorList& tensors) : spec_(spec) {
    for (const Tensor& tensor : tensors) saved_.emplace_back(tensor, false);
  }
  const NodeSpec& spec() const final { return spec_; }
  size_t slot_count() const final { return saved_.size(); }
  SavedSlot& slot(size_t at) final { return saved_[at]; }
  std::pair<size_t, size_t> slots_of_field(size_t) const final { return {0, saved_.size()}; }

 protected:
  TensorList unpack_list() {
    TensorList tensors;
    for (const SavedSlot& each : saved_) tensors.push_back(each.unpack_for(NodePtr::share(this)));
    return tensors;
  }

 private:
  const NodeSpec& spec_;
  std::vector<SavedSlot> saved_;
};

// A node with one output.
template <size_t count>
class OpNode : public SlotNode<count> {
 public:
  using SlotNode<count>::SlotNode;
  // The incoming gradient is undefined if the output was unused. Unneeded gradients are not computed.
  TensorList apply(TensorList&& gradients) final {
    const Tensor gradient = std::move(gradients[0]);
    TensorList results(this->next_edges().size());
    if (gradient && this->needs_any()) {
      differentiate(gradient, results);
    } else {
      unpack_all();  // still raises for freed slots
    }
    return results;
  }

 protected:
  virtual void differentiate(const Tensor& gradient, TensorList& results) = 0;
  virtual void unpack_all() {
    if constexpr (count > 1) this->unpack_two();
    for (size_t i = count > 1 ? 2 : 0; i < count; ++i) this->unpack(i);
  }
};

// A node of two inputs that saves both. The rule of such a node:
//   inline static const NodeSpec& spec;  static constexpr size_t first_input;  // whose gradient is computed first
//   static Tensor first(const Tensor& gradient, const Tensor& slot0, const Tensor& slot1);  // and second(), likewise
template <class Rule>
class PairNode final : public OpNode<2> {
 public:
  PairNode() : OpNode<2>(Rule::spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const auto [slot0, slot1] = unpack_two();
    constexpr size_t first = Rule::first_input, second = 1 - first;
    if (needs(first)) results[first] = Rule::first(gradient, slot0, slot1);  // sets the order of second derivatives
    if (needs(second)) results[second] = Rule::second(gradient, slot0, slot1);
  }
};

// A one-input node that saves no tensor. Its rule holds plain values:
//   inline static const NodeSpec& spec;  SavedValue value(size_t field) const;  Tensor gradient(const Tensor& gradient)
//   const;
template <class Rule>
class RuleNode final : public OpNode<0> {
 public:
  explicit RuleNode(Rule rule) : OpNode<0>(Rule::spec), rule_(std::move(rule)) {}
  SavedValue saved_value(size_t field) const override { return rule_.value(field); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override { results[0] = rule_.gradient(gradient); }

 private:
  Rule rule_;
};

// A node being filled; empty if no history is recorded.
template <class T>
struct Recording {
  NodePtr owner;
  T* operator->() const { return static_cast<T*>(owner.get()); }
  explicit operator bool() const { return static_cast<bool>(owner); }
};

template <class T, class... Args>
Recording<T> start_recording(std::initializer_list<const Tensor*> inputs, Args&&... args) {
  if (!needs_graph(inputs)) return {};
  Recording<T> recording{make_node<T>(std::forward<Args>(args)...)};
  recording.owner->set_next_edges(gradient_edges(inputs));
  return recording;
}

// Save two inputs, each if its gradient is computed (-1: in any case). PyTorch 1.x packed the last slot first.
template <class T>
void save_two(const Recording<T>& node, const Tensor& first, int for_first, const Tensor& second, int for_second) {
  const auto needs = [&](int input) { return input < 0 || node->should_compute_output(static_cast<size_t>(input)); };
  const bool is_reversed = node && has(node->policy(), traits::packs_in_reverse);
  if (node && is_reversed && needs(for_second)) node->save_input(1, second);
  if (node && needs(for_first)) node->save_input(0, first);
  if (node && !is_reversed && needs(for_second)) node->save_input(1, second);
}

// Attach its node to the result of a one-input operation.
template <class Rule>
Tensor recorded(Tensor result, const Tensor& input, Rule rule) {
  if (!is_differentiable(result->dtype())) return result;
  if (const auto node = start_recording<RuleNode<Rule>>({&input}, std::move(rule))) set_history(result, node.owner);
  return result;
}

inline Tensor with_history(Tensor result, const NodePtr& node) {
  if (node) set_history(result, node);
  return result;
}

// The steps before and after an in-place change.
template <class T>
void finish_in_place(const Tensor& target, const Recording<T>& recording) {
  if (!is_in_watcher()) target->bump_version();
  if (recording) rebase_history(target, recording.owner);
}

}  // namespace gradlife::ops
