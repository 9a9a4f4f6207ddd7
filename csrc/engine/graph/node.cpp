#include "engine/graph/node.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/events.hpp"
#include "base/labels.hpp"
#include "engine/graph/anomaly.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/graph/saved_slot.hpp"
#include "engine/policy/traits.hpp"

namespace gradlife {
namespace {

thread_local uint64_t next_sequence_nr = 0;
thread_local Node* running_node = nullptr;
DefaultHooks default_hooks_source = nullptr;
CopyDefaultHooks default_hooks_copy = nullptr;

// Release a dying node's edges. When the last owner of a foreign control block goes, its node is stripped too, even if
// it has other owners: PyTorch's deleter did so before PR 22983.
void gather_stripped(EdgeList& edges, std::vector<NodePtr>& stripped) {
  for (Edge& edge : edges) {
    NodePtr node = std::move(edge.node);
    if (node && node.is_foreign() && node.use_count() == 1 && node->may_be_stripped())
      stripped.push_back(std::move(node));
  }
}

void drop_edges(EdgeList& edges) {
  std::vector<NodePtr> stripped;
  gather_stripped(edges, stripped);
  while (!stripped.empty()) {
    const NodePtr node = std::move(stripped.back());
    stripped.pop_back();
    record(EventKind::released, *node, "edges stripped");
    gather_stripped(node->next_edges(), stripped);
  }
}

}  // namespace

Node* current_node() { return running_node; }

Node* set_current_node(Node* node) { return std::exchange(running_node, node); }

void install_default_hooks(DefaultHooks source, CopyDefaultHooks copy) {
  default_hooks_source = source;
  default_hooks_copy = copy;
}

std::function<void()> copy_of_default_hooks() { return default_hooks_copy(); }

std::unique_ptr<SavedHooks> default_saved_hooks() {
  return default_hooks_source != nullptr ? default_hooks_source() : nullptr;
}

NodePtr NodePtr::steal(Node* node) { return NodePtr(node, node); }

NodePtr NodePtr::share(Node* node) { return node != nullptr ? NodePtr(node, node->new_owner()) : NodePtr(); }

bool NodePtr::is_foreign() const { return static_cast<RefCounted*>(node_) != block_; }

Node::Node(uint64_t sequence_nr, Identity identity) : Managed(Kind::node, identity), sequence_nr_(sequence_nr) {
  record_origin(*this, current_node());
}

Node::Node(uint64_t sequence_nr) : Node(sequence_nr, current_policy()->node_identity) {}

Node::Node() : Node(next_sequence_nr++) {}

Node::Node(Identity identity) : Node(next_sequence_nr++, identity) {}

Node::~Node() = default;

SavedSlot& Node::slot(size_t) { throw EngineError(ErrorKind::index, "this node has no saved slots"); }

std::pair<size_t, size_t> Node::slots_of_field(size_t field) const { return {field, field + 1}; }

SavedValue Node::saved_value(size_t) const { return {}; }

RefCounted* Node::new_owner() {
  retain();
  return this;
}

void Node::release_variables() {
  if (released_) return;
  released_ = true;
  record(EventKind::released, *this);
  for (size_t i = 0; i < slot_count(); ++i) slot(i).release(policy());
}

uint32_t Node::add_input_metadata(const TensorImpl& output) {
  input_metadata_.push_back({output.sizes(), output.dtype()});
  return static_cast<uint32_t>(input_metadata_.size() - 1);
}

// Since 2.0 a node has one such hook per output: a second tensor for that output replaces the first.
void Node::add_retains_grad_hook(uint32_t output_nr, std::shared_ptr<TensorHook> hook) {
  const bool is_one_each = has(policy(), traits::one_retains_grad_hook_per_output);
  const auto is_of_output = [&](const auto& entry) { return is_one_each && entry.input_nr == output_nr; };
  const auto found = std::find_if(retains_grad_hooks.begin(), retains_grad_hooks.end(), is_of_output);
  if (found != retains_grad_hooks.end()) {
    found->hook = std::move(hook);
  } else {
    retains_grad_hooks.push_back({std::move(hook), output_nr});
  }
}

void Node::let_go() {
  if (watched_addresses != 0) take_back_address(*this);
  for (size_t i = 0; i < slot_count(); ++i) slot(i).reset();
  drop_edges(next_edges_);
  next_edges_.clear();
  tensor_hooks.clear();
  retains_grad_hooks.clear();
  pre_hooks.clear();
  post_hooks.clear();
  metadata.reset();
}

void Node::visit_owned(OwnedVisitor& visitor) const {
  for (size_t i = 0; i < next_edges_.size(); ++i)
    if (next_edges_[i])
      visitor.managed(labels::next_edge, next_edges_[i].node.get(), Ownership::strong, static_cast<int64_t>(i));
  Node& self = const_cast<Node&>(*this);
  const std::vector<SavedField>& fields = spec().fields;
  for (size_t field = 0, slot_index = 0; field < fields.size(); ++field) {
    if (fields[field].type == SavedField::Type::value) continue;
    const auto [first, last] = slots_of_field(field);
    const bool is_list = fields[field].type == SavedField::Type::tensor_list;
    for (slot_index = first; slot_index < last && slot_index < slot_count(); ++slot_index)
      self.slot(slot_index)
          .visit_owned(visitor, fields[field].name, is_list ? static_cast<int64_t>(slot_index - first) : -1);
  }
  for (const TensorHookEntry& entry : tensor_hooks) entry.hook->visit_owned(visitor);
  for (const auto& hook : pre_hooks) hook->visit_owned(visitor);
  for (const auto& hook : post_hooks) hook->visit_owned(visitor);
  if (metadata) visitor.object(labels::metadata, metadata.get(), Ownership::strong);
}

AccumulateGrad::AccumulateGrad(Tensor variable) : Node(highest_sequence_nr), variable_(std::move(variable)) {
  add_input_metadata(*variable_);
}

const NodeSpec& AccumulateGrad::spec() const {
  static const NodeSpec* spec = new NodeSpec{"AccumulateGrad", {}};
  return *spec;
}

TensorList AccumulateGrad::apply(TensorList&& gradients) {
  Tensor gradient = std::move(gradients[0]);
  gradients.clear();
  require(!gradient || !grad_fn(variable_), "leaf variable has been moved into the graph interior");
  if (gradient && requires_grad(variable_)) accumulate_grad(variable_, std::move(gradient), post_hooks.empty() ? 1 : 2);
  if (const AutogradMeta* meta = variable_->meta(); meta != nullptr && meta->post_accumulate_hook) {
    record(EventKind::hook, *this, "post accumulate hook");
    meta->post_accumulate_hook->call(variable_);
  }
  return {};
}

std::optional<DType> AccumulateGrad::gradient_dtype(uint32_t input_nr) const {
  const AutogradMeta* meta = variable_->meta();
  return meta != nullptr && meta->has_own_grad_dtype ? grad_dtype(*variable_) : Node::gradient_dtype(input_nr);
}

std::vector<Node::TensorHookEntry> AccumulateGrad::live_tensor_hooks() {
  std::vector<TensorHookEntry> found;
  const AutogradMeta* meta = variable_->meta();
  if (meta != nullptr && (meta->requires_grad || has(policy(), traits::tensor_hooks_come_first)))
    for (const auto& hook : meta->hooks) found.push_back({hook, 0});
  return found;
}

void AccumulateGrad::let_go() {
  Node::let_go();
  variable_.reset();
}

void AccumulateGrad::visit_owned(OwnedVisitor& visitor) const {
  visitor.managed(labels::variable, variable_.get(), Ownership::strong);
  Node::visit_owned(visitor);
}

}  // namespace gradlife
