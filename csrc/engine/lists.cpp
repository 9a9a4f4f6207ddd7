// Operations on each tensor of a list, with one node behind all results.
#include "engine/clamping.hpp"
#include "engine/indexing.hpp"
#include "engine/op_node.hpp"
#include "engine/reduction_ops.hpp"

namespace gradlife::ops {
namespace {

constexpr SavedField saved_list(const char* name) { return {name, SavedField::Type::tensor_list}; }

const NodeSpec& spec_of(Extreme which, bool one_number) {
  static const NodeSpec& max_one = node_spec("ForeachMaximumBackward0", {saved_number("scalar"), saved_list("self")});
  static const NodeSpec& max_many = node_spec("ForeachMaximumBackward1", {saved_number("scalars"), saved_list("self")});
  static const NodeSpec& min_one = node_spec("ForeachMinimumBackward0", {saved_number("scalar"), saved_list("self")});
  static const NodeSpec& min_many = node_spec("ForeachMinimumBackward1", {saved_number("scalars"), saved_list("self")});
  if (which == Extreme::max) return one_number ? max_one : max_many;
  return one_number ? min_one : min_many;
}

// Slots: all inputs. Where one equals its number, each of both takes half of the gradient.
class BoundedListNode final : public Node {
 public:
  BoundedListNode(Extreme which, const TensorList& inputs, std::vector<Scalar> numbers, bool one_number)
      : spec_(spec_of(which, one_number)), which_(which), numbers_(std::move(numbers)), one_number_(one_number) {
    for (const Tensor& each : inputs) saved_.emplace_back(each, false);
  }
  const NodeSpec& spec() const override { return spec_; }
  size_t slot_count() const override { return saved_.size(); }
  SavedSlot& slot(size_t index) override { return saved_[index]; }
  std::pair<size_t, size_t> slots_of_field(size_t) const override { return {0, saved_.size()}; }
  SavedValue saved_value(size_t) const override {
    if (one_number_) return saved(numbers_[0]);
    SavedValue list;
    list.type = SavedValue::Type::list;
    for (const Scalar& each : numbers_) list.list.push_back(saved(each));
    return list;
  }

  TensorList apply(TensorList&& gradients) override {
    TensorList results(saved_.size());
    for (size_t i = 0; i < saved_.size(); ++i) {
      const Tensor input = saved_[i].unpack_for(NodePtr::share(this));
      if (gradients[i] && should_compute_output(i)) results[i] = shared(gradients[i], input, number(i));
    }
    return results;
  }

 private:
  const Scalar& number(size_t i) const { return numbers_[one_number_ ? 0 : i]; }
  Tensor shared(const Tensor& gradient, const Tensor& input, const Scalar& bound) const {
    const Tensor equal = compare_number(Comparison::eq, input, bound);
    const Tensor loses = compare_number(which_ == Extreme::max ? Comparison::lt : Comparison::gt, input, bound);
    return masked_fill(where(equal, div_scalar(gradient, 2), gradient), loses, Scalar(0), Form::in_place);
  }
  const NodeSpec& spec_;
  Extreme which_;
  std::vector<Scalar> numbers_;
  bool one_number_;
  std::vector<SavedSlot> saved_;
};

const NodeSpec& pairs_spec(Extreme which) {
  static const NodeSpec& max_spec = node_spec("ForeachMaximumBackward0List");
  static const NodeSpec& min_spec = node_spec("ForeachMinimumBackward0List");
  return which == Extreme::max ? max_spec : min_spec;
}

// Slots, which PyTorch does not show: all of the first list, then all of the second.
class PairsOfListsNode final : public Node {
 public:
  PairsOfListsNode(Extreme which, const TensorList& a, const TensorList& b) : which_(which), count_(a.size()) {
    for (const TensorList* list : {&a, &b})
      for (const Tensor& each : *list) saved_.emplace_back(each, false);
  }
  const NodeSpec& spec() const override { return pairs_spec(which_); }
  size_t slot_count() const override { return saved_.size(); }
  SavedSlot& slot(size_t index) override { return saved_[index]; }

  TensorList apply(TensorList&& gradients) override {
    TensorList results(saved_.size());
    for (size_t i = 0; i < count_; ++i) {
      const Tensor a = unpack(i), b = unpack(count_ + i);
      if (!gradients[i]) continue;
      if (should_compute_output(i)) results[i] = shared(gradients[i], a, b);
      if (should_compute_output(count_ + i)) results[count_ + i] = shared(gradients[i], b, a);
    }
    return results;
  }
  void visit_owned(OwnedVisitor& visitor) const override {
    Node::visit_owned(visitor);
    for (size_t i = 0; i < saved_.size(); ++i)
      saved_[i].visit_owned(visitor, i < count_ ? "self" : "other", static_cast<int64_t>(i % count_));
  }

 private:
  Tensor unpack(size_t i) { return saved_[i].unpack_for(NodePtr::share(this)); }
  Tensor shared(const Tensor& gradient, const Tensor& mine, const Tensor& other) const {
    const Tensor equal = compare(Comparison::eq, mine, other);
    const Tensor loses = compare(which_ == Extreme::max ? Comparison::lt : Comparison::gt, mine, other);
    return masked_fill(where(equal, div_scalar(gradient, 2), gradient), loses, Scalar(0), Form::in_place);
  }
  Extreme which_;
  size_t count_;
  std::vector<SavedSlot> saved_;
};

Tensor bounded(Extreme which, const Tensor& input, const Scalar& number) {
  const GradMode off(false);
  return which == Extreme::max ? clamp_min(input, number) : clamp_max(input, number);
}

}  // namespace

TensorList bounded_list(Extreme which, const TensorList& inputs, const std::vector<Scalar>& numbers, bool one_number) {
  require(!inputs.empty(), "Tensor list must have at least one tensor.");
  require(one_number || numbers.size() == inputs.size(),
          "Tensor list must have same number of elements as scalar list.");
  NodePtr node;
  if (needs_graph(inputs)) {
    node = make_node<BoundedListNode>(which, inputs, numbers, one_number);
    node->set_next_edges(gradient_edges(inputs));
  }
  TensorList results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    results.push_back(bounded(which, inputs[i], numbers[one_number ? 0 : i]));
    if (node) set_history(results.back(), node);
  }
  return results;
}

TensorList larger_or_smaller(Extreme which, const TensorList& a, const TensorList& b) {
  require(!a.empty(), "Tensor list must have at least one tensor.");
  require(a.size() == b.size(), "Tensor lists must have the same number of tensors, got ", a.size(), " and ", b.size());
  TensorList inputs = a;
  inputs.insert(inputs.end(), b.begin(), b.end());
  NodePtr node;
  if (needs_graph(inputs)) {
    node = make_node<PairsOfListsNode>(which, a, b);
    node->set_next_edges(gradient_edges(inputs));
  }
  TensorList results;
  for (size_t i = 0; i < a.size(); ++i) {
    {
      const GradMode off(false);
      results.push_back(larger_or_smaller(which, a[i], b[i]));
    }
    if (node) set_history(results.back(), node);
  }
  return results;
}

}  // namespace gradlife::ops
