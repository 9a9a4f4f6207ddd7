#include "engine/graph/autograd.hpp"

#include <algorithm>

#include "base/events.hpp"
#include "engine/graph/needed_ops.hpp"
#include "engine/policy/release_texts.hpp"

namespace gradlife {
namespace {

bool is_normal(const Tensor& tensor) { return &tensor == &number_operand || (tensor && !tensor->is_inference()); }

}  // namespace

const Tensor number_operand{};

AutogradMeta* new_meta() { return new AutogradMeta; }

void DeleteMeta::operator()(AutogradMeta* meta) const { delete meta; }

void visit_meta(const AutogradMeta& meta, OwnedVisitor& visitor) {
  if (meta.grad_fn) visitor.managed("grad_fn", meta.grad_fn.get(), Ownership::strong);
  if (const NodePtr accumulator = meta.grad_accumulator.lock())
    visitor.managed("accumulator", accumulator.get(), Ownership::weak);
  if (meta.grad) visitor.managed("grad", meta.grad.get(), Ownership::strong);
  if (meta.view) {
    visitor.managed("base", meta.view->base.get(), Ownership::strong);
    for (const Tensor& source : meta.view->sources) visitor.managed("view of", source.get(), Ownership::strong);
  }
  if (meta.closure) visitor.object("closure", meta.closure.get(), Ownership::strong);
  for (const auto& hook : meta.hooks) hook->visit_owned(visitor);
  if (meta.post_accumulate_hook) meta.post_accumulate_hook->visit_owned(visitor);
}

bool requires_grad(const Tensor& tensor) {
  const AutogradMeta* meta = tensor->meta();
  if (meta == nullptr) return false;
  // A view requires grad when its base does; an in-place operation may have changed that.
  return meta->requires_grad || meta->grad_fn || (meta->view && requires_grad(meta->view->base));
}

namespace {

// An operation on inference tensors only is never recorded, even if they require grad.
template <class Inputs, class Get>
bool any_needs_graph(const Inputs& inputs, Get&& get) {
  if (!is_recording()) return false;
  bool any_requires = false, any_normal = false;
  for (const auto& input : inputs) {
    const Tensor& tensor = get(input);
    any_normal = any_normal || is_normal(tensor);
    any_requires = any_requires || (tensor && requires_grad(tensor));
  }
  return any_requires && any_normal;
}

}  // namespace

bool needs_graph(std::initializer_list<const Tensor*> inputs) {
  return any_needs_graph(inputs, [](const Tensor* input) -> const Tensor& { return *input; });
}

bool needs_graph(const TensorList& inputs) {
  return any_needs_graph(inputs, [](const Tensor& input) -> const Tensor& { return input; });
}

Tensor written(Tensor result, const Tensor& input, uint32_t times) {
  if (!input->is_inference() || inference_mode()) return result;
  for (uint32_t i = 0; i < times; ++i) result->bump_version();
  return result;
}

void refuse_out_form(const Tensor& input, const char* name) {
  require(
      !input->is_inference() || !is_recording() || !requires_grad(input), name,
      "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
      "grad.");
}

void refuse_forbidden_views(std::initializer_list<const Tensor*> inputs) {
  const bool any_view = std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) {
    return (*input)->meta() != nullptr && (*input)->meta()->view != nullptr;
  });
  if (!any_view || !needs_graph(inputs)) return;
  for (const Tensor* input : inputs) grad_fn(*input);
}

void refuse_forbidden_view_of(const Tensor& input) { refuse_forbidden_views({&input}); }

void refuse_forbidden_views(const TensorList& inputs) {
  if (!needs_graph(inputs)) return;
  for (const Tensor& input : inputs) grad_fn(input);
}

std::string qualified_name(const Node& node) {
  const std::string name = node.name();
  const bool is_internal =
      name == "AccumulateGrad" || name == "CopySlices" || name == "CopyBackwards" || name == "NotImplemented";
  return is_internal ? "torch::autograd::" + name : name;
}

std::string operation_name(const Node& node) {
  const std::string name = node.name();
  if (name == "CopySlices" || name == "CopyBackwards") return "torch::autograd::" + name;
  if (!has(*current_policy(), traits::short_operation_names)) return name;
  const size_t ending = name.rfind("Backward");
  if (ending == std::string::npos || ending == 0) return name;
  const std::string number = name.substr(ending + 8);
  if (number.find_first_not_of("0123456789") != std::string::npos) return name;
  return name.substr(0, ending) + (number == "0" ? "" : number);
}

NodePtr grad_accumulator(const Tensor& leaf) {
  if (leaf->meta() == nullptr) return {};
  AutogradMeta& meta = *leaf->meta();
  if (meta.grad_fn || !meta.requires_grad) return {};
  if (NodePtr live = meta.grad_accumulator.lock()) return live;
  const NodePtr made = make_node<AccumulateGrad>(leaf);
  meta.grad_accumulator = WeakNodePtr(made);
  return made;
}

Edge gradient_edge(const Tensor& tensor) {
  WeakPtr<TensorImpl> closed_over;
  if (current_policy()->saved_slot == SavedSlotPolicy::closure) closed_over = WeakPtr<TensorImpl>(tensor.get());
  if (NodePtr node = grad_fn(tensor)) return {std::move(node), tensor->meta()->output_nr, std::move(closed_over)};
  return {grad_accumulator(tensor), 0, std::move(closed_over)};
}

EdgeList gradient_edges(std::initializer_list<const Tensor*> tensors) {
  EdgeList edges;
  edges.reserve(tensors.size());
  for (const Tensor* tensor : tensors) edges.push_back(*tensor ? gradient_edge(*tensor) : Edge{});
  return edges;
}

EdgeList gradient_edges(const TensorList& tensors) {
  EdgeList edges;
  edges.reserve(tensors.size());
  for (const Tensor& tensor : tensors) edges.push_back(tensor ? gradient_edge(tensor) : Edge{});
  return edges;
}

void set_history_at(const Tensor& output, const NodePtr& node, uint32_t output_nr) {
  AutogradMeta& meta = output->need_meta();
  meta.grad_fn = node;
  meta.output_nr = output_nr;
  meta.requires_grad = false;
  meta.awaits_closure = node->policy().saved_slot == SavedSlotPolicy::closure;
  if (meta.view) meta.view->attr_version = output->version();
}

void set_history(const Tensor& output, const NodePtr& node) {
  set_history_at(output, node, node->add_input_metadata(*output));
}

void set_requires_grad(const Tensor& tensor, bool is_required) {
  require(
      is_leaf(*tensor) || is_required,
      "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
      "that doesn't require differentiation use var_no_grad = var.detach().");
  require(!is_required || is_differentiable(tensor->dtype()),
          "only Tensors of floating point dtype can require gradients");
  require(!is_required || !tensor->is_inference() || inference_mode(),
          "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (!is_leaf(*tensor)) return;
  if (is_required || tensor->meta() != nullptr) tensor->need_meta().requires_grad = is_required;
}

std::optional<DType> grad_dtype(const TensorImpl& tensor) {
  const AutogradMeta* meta = tensor.meta();
  if (meta == nullptr || !meta->has_own_grad_dtype) return tensor.dtype();
  return meta->takes_any_grad_dtype ? std::nullopt : std::optional<DType>(meta->own_grad_dtype);
}

void set_grad_dtype(const Tensor& tensor, std::optional<DType> dtype) {
  AutogradMeta& meta = tensor->need_meta();
  meta.has_own_grad_dtype = true;
  meta.takes_any_grad_dtype = !dtype;
  meta.own_grad_dtype = dtype.value_or(tensor->dtype());
}

Tensor detach(const Tensor& tensor) {
  Tensor detached = lowered("detach.default", [&] { return variable_data(tensor); }, tensor);
  if (tensor->has_version()) detached->share_version(tensor->version_counter());
  return detached;
}

Tensor variable_data(const Tensor& tensor) {
  Tensor data = alias(tensor, tensor->sizes(), tensor->strides(), tensor->offset());
  if (!inference_mode()) data->set_has_version();
  if (tensor->is_wrapped_number()) data->set_wrapped_number();
  return data;
}

void detach_in_place(const Tensor& tensor) {
  if (tensor->is_inference() || inference_mode()) return;  // only autograd acts here, and it ignores these
  require(tensor->meta() == nullptr || !tensor->meta()->view,
          "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
          "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
          "detach_() cannot be called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
          "function in torch/optim/optimizer.py as the solution.");
  if (tensor->meta() == nullptr) return;
  AutogradMeta& meta = *tensor->meta();
  const NodePtr dropped = std::move(meta.grad_fn);
  meta.requires_grad = false;
  meta.awaits_closure = false;
  meta.output_nr = 0;
  const Handle forgotten = std::move(meta.closure);
}

Tensor RetainsGradHook::call(Tensor gradient) {
  const Tensor tensor = tensor_.lock();
  const Policy& policy = *current_policy();
  if (!tensor || (!gradient && has(policy, traits::tensor_hooks_come_first))) return gradient;
  Tensor& kept = tensor->need_meta().grad;
  require(bool(gradient), text_for(policy, texts::undefined_tensor), " for argument ",
          kept ? "#1 'other'" : "#0 'self'");
  kept = kept ? ops::add(kept, gradient) : ops::clone_contiguous(gradient);
  return gradient;
}

void retain_grad(const Tensor& tensor) {
  require(requires_grad(tensor), "can't retain_grad on Tensor that has requires_grad=False");
  if (is_leaf(*tensor) || tensor->meta()->retains_grad) return;
  const NodePtr node = grad_fn(tensor);
  AutogradMeta& meta = *tensor->meta();
  meta.retains_grad = std::make_shared<RetainsGradHook>(tensor);
  node->add_retains_grad_hook(meta.output_nr, meta.retains_grad);
}

namespace {

bool is_dense(const TensorImpl& tensor) {
  int64_t span = 1;
  for (size_t i = 0; i < tensor.dim(); ++i) span += (tensor.sizes()[i] - 1) * tensor.strides()[i];
  return tensor.numel() == 0 || span == tensor.numel();
}

// Whether a gradient has its variable's layout, or is contiguous if the variable's memory has gaps or overlaps.
bool has_layout_for(const TensorImpl& gradient, const TensorImpl& variable) {
  if (!is_dense(variable)) return gradient.is_contiguous();
  if (!has(variable.policy(), traits::ignores_strides_of_single_elements))
    return gradient.strides() == variable.strides() || variable.numel() <= 1;
  // Ignore the variable's sizes: its data may have been replaced.
  for (size_t i = 0; i < gradient.dim(); ++i) {
    const bool is_alike = gradient.strides()[i] == (i < variable.dim() ? variable.strides()[i] : 1);
    if (gradient.sizes()[i] == 1 ? gradient.strides()[i] == 0 : !is_alike) return false;
  }
  return true;
}

// Copy a gradient into the layout expected for the variable.
Tensor copy_for(const Tensor& gradient, const TensorImpl& variable) {
  if (!is_dense(variable) && gradient->is_contiguous()) return ops::clone(gradient);
  const Dims strides = is_dense(variable) ? variable.strides() : contiguous_strides(variable.sizes());
  const Tensor memory = empty({variable.numel()}, gradient->dtype());
  const Tensor copy = alias(memory, variable.sizes(), strides, 0);
  return ops::copy_in_place(copy, gradient);
}

}  // namespace

void accumulate_grad(const Tensor& variable, Tensor gradient, uint32_t expected_owners) {
  AutogradMeta& meta = variable->need_meta();
  if (!meta.grad) {
    const bool may_steal = !grad_enabled() &&
                           gradient->has_at_most(expected_owners + (gradient->is_cached() ? 1 : 0)) &&
                           has_layout_for(*gradient, *variable);
    Tensor kept = may_steal ? detach(gradient) : copy_for(gradient, *variable);
    meta.grad = std::move(kept);
  } else if (!grad_enabled()) {
    ops::add_in_place(meta.grad, gradient);
  } else {
    meta.grad = ops::add(meta.grad, gradient);
  }
}

}  // namespace gradlife
