// The larger of each tensor of a list and a number, with one node for all results.
#include "engine/backward/op_node.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/ops.hpp"
#include "engine/ops/reduction_ops.hpp"

namespace gradlife::ops {
namespace {

constexpr SavedField saved_list(const char* name) { return {name, SavedField::Type::tensor_list}; }

const NodeSpec& spec_of(bool one_number) {
  static const NodeSpec& one = node_spec("ForeachMaximumBackward0", {saved_number("scalar"), saved_list("self")});
  static const NodeSpec& many = node_spec("ForeachMaximumBackward1", {saved_number("scalars"), saved_list("self")});
  return one_number ? one : many;
}

// Slots: all inputs. If an element equals its number, each of the two gets half of the gradient.
class MaximumOfListNode final : public Node {
 public:
  MaximumOfListNode(const TensorList& inputs, std::vector<Scalar> numbers, bool one_number)
      : spec_(spec_of(one_number)), numbers_(std::move(numbers)), one_number_(one_number) {
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
    const Tensor loses = compare_number(Comparison::lt, input, bound);
    return masked_fill(where(equal, div_scalar(gradient, 2), gradient), loses, Scalar(0));
  }
  const NodeSpec& spec_;
  std::vector<Scalar> numbers_;
  bool one_number_;
  std::vector<SavedSlot> saved_;
};

Tensor bounded(const Tensor& input, const Scalar& number) {
  const GradMode off(false);
  return where(compare_number(Comparison::lt, input, number), full(input->sizes(), number, input->dtype()), input);
}

}  // namespace

TensorList maximum_of_list(const TensorList& inputs, const std::vector<Scalar>& numbers, bool one_number) {
  require(!inputs.empty(), "Tensor list must have at least one tensor.");
  require(one_number || numbers.size() == inputs.size(),
          "Tensor list must have same number of elements as scalar list.");
  NodePtr node;
  if (needs_graph(inputs)) {
    node = make_node<MaximumOfListNode>(inputs, numbers, one_number);
    node->set_next_edges(gradient_edges(inputs));
  }
  TensorList results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    results.push_back(bounded(inputs[i], numbers[one_number ? 0 : i]));
    if (node) set_history(results.back(), node);
  }
  return results;
}

}  // namespace gradlife::ops
