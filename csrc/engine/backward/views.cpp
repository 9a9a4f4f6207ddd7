#include "engine/backward/views.hpp"

#include <algorithm>
#include <optional>

#include "base/host.hpp"
#include "base/labels.hpp"
#include "engine/backward/graph_task.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/graph/needed_ops.hpp"
#include "engine/graph/saved_slot.hpp"
#include "engine/policy/release_texts.hpp"

namespace gradlife {
namespace {

thread_local ChangeListener* change_listener = nullptr;
thread_local bool replays_views = false;
constexpr const char* leaf_view_text =
    "a view of a leaf Variable that requires grad is being used in an in-place operation.";
constexpr const char* variable_file = "\"/__w/pytorch/pytorch/torch/csrc/autograd/variable.cpp\"";
constexpr const char* please_report = ", please report a bug to PyTorch. ";

const char* leaf_text() {
  const Policy& policy = *current_policy();
  if (policy.is_oneflow)
    return "\x1b[1m\x1b[38;2;255;000;000mError\x1b[0m: a leaf Tensor that requires grad is being used in an in-place "
           "operation";
  return text_for(policy, texts::leaf_changed);
}

// In OneFlow changing a view does not touch its base's history: a view is changed like any tensor.
const ViewInfo* view_of(const AutogradMeta* meta) {
  return meta == nullptr || current_policy()->is_oneflow ? nullptr : meta->view.get();
}

// Return a view's window on its base, or its original window if it was stored.
Window replayed_window(const TensorImpl& view) {
  const ViewInfo& info = *view.meta()->view;
  return info.original_window ? *info.original_window : Window{view.sizes(), view.strides(), view.offset()};
}

const NodeSpec& copy_slices_spec = *new NodeSpec{"CopySlices", {}};

// Replays an in-place operation on a view inside the gradient of its base: the gradient of the changed window goes
// through the operation's node, the rest passes unchanged.
class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const TensorImpl& view, NodePtr operation)
      : base_sizes_(base->sizes()),
        base_strides_(base->strides()),
        base_offset_(base->offset()),
        window_(replayed_window(view)),
        views_as_real_(is_complex(base->dtype()) && !is_complex(view.dtype())),
        conjugates_(view.is_conjugate() != base->is_conjugate()),
        replay_(view.meta()->view->replay),
        operation_(std::move(operation)) {
    add_input_metadata(*base);
    EdgeList edges = operation_->next_edges();
    edges.at(0) = gradient_edge(base);
    set_next_edges(std::move(edges));
  }
  const NodeSpec& spec() const override { return copy_slices_spec; }
  TensorList apply(TensorList&& gradients) override;
  Tensor window_of(const Tensor& gradient) const;
  void release_variables() override {
    Node::release_variables();
    operation_.reset();
  }
  void visit_owned(OwnedVisitor& visitor) const override {
    if (operation_) visitor.managed(labels::replayed_operation, operation_.get(), Ownership::strong);
    Node::visit_owned(visitor);
  }

 protected:
  void let_go() override {
    operation_.reset();
    Node::let_go();
  }

 private:
  Dims base_sizes_, base_strides_;
  int64_t base_offset_;
  Window window_;
  bool views_as_real_, conjugates_;
  std::function<Tensor(const Tensor&)> replay_;
  NodePtr operation_;  // released with what it saved; its edge to the view's old node goes with it
};

TensorList CopySlices::apply(TensorList&& gradients) {
  const Tensor gradient = std::move(gradients[0]);
  if (!gradient) return TensorList(next_edges().size());
  require(static_cast<bool>(operation_), freed_text(policy()));
  Tensor result = empty(base_sizes_, gradient->dtype());  // gets the strides of the base
  if (result->strides() != base_strides_ && base_sizes_.product() > 0) {
    int64_t span = 1;
    for (size_t i = 0; i < base_sizes_.size(); ++i) span += (base_sizes_[i] - 1) * base_strides_[i];
    result = alias(empty({span}, gradient->dtype()), base_sizes_, base_strides_, 0);
  }
  ops::copy_in_place(result, gradient);
  const Tensor window = window_of(result);
  TensorList inputs;
  inputs.push_back(ops::clone(window));
  if (GraphTask* task = current_task()) task->need_also(operation_->next_edges()[0], next_edges()[0]);
  TensorList outputs = operation_->apply(std::move(inputs));
  TensorList results(next_edges().size());
  for (size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
    if (!should_compute_output(i) || !is_wanted(next_edges()[i])) continue;
    if (i == 0) {
      if (!outputs[0]) continue;  // since 2.0: without a gradient of the window there is none of the base
      ops::copy_in_place(window, outputs[0]);
      results[0] = result;
    } else {
      results[i] = std::move(outputs[i]);
    }
  }
  return results;
}

// Return the view's window on the base's gradient.
Tensor CopySlices::window_of(const Tensor& gradient) const {
  if (replay_) return replay_(gradient);
  const int64_t base_offset = views_as_real_ ? 2 * base_offset_ : base_offset_;
  const Tensor seen = views_as_real_ ? ops::view_as_real(gradient) : conjugates_ ? ops::conj(gradient) : gradient;
  return ops::as_strided(seen, window_.sizes, window_.strides, window_.offset - base_offset);
}

const char* creation_text(CreationMeta creation) {
  switch (creation) {
    case CreationMeta::multi_output:
      return " This view is the output of a function that returns multiple views. Such functions do not allow the "
             "output views to be modified inplace. You should replace the inplace operation by an out-of-place one.";
    case CreationMeta::no_grad:
      return " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
             "moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace "
             "to be tracked) or both outside (if you want the inplace to be tracked).";
    case CreationMeta::inference_mode:
      return " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
             "moving both the view and the inplace either both inside the inference_mode block (if you don't want the "
             "inplace to be tracked) or both outside (if you want the inplace to be tracked).";
    case CreationMeta::in_custom_function:
      return " This view was created inside a custom Function (or because an input was returned as-is) and the "
             "autograd logic to handle view+inplace would override the custom backward associated with the custom "
             "Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
             "output of the custom Function.";
    case CreationMeta::normal:
      break;
  }
  return "";
}

void refuse_forbidden_view(const AutogradMeta& meta, bool indirect) {
  const CreationMeta creation = meta.view->creation;
  if (creation == CreationMeta::normal) return;
  const char* object = indirect ? "its base or another view of its base has been" : "is being";
  const Node* producer = meta.grad_fn.get();
  const bool is_inference = creation == CreationMeta::inference_mode;
  std::string head;
  if (is_inference || creation == CreationMeta::no_grad || producer == nullptr) {
    head = producer != nullptr ? concat("Output ", meta.output_nr, " of ", operation_name(*producer),
                                        " is a view of a view which was created in")
                               : "A view was created in";
    head += concat(is_inference ? " inference mode and " : " no_grad mode and ", object,
                   is_inference ? " modified inplace in normal mode." : " modified inplace with grad mode enabled.");
  } else {
    head = concat("Output ", meta.output_nr, " of ", operation_name(*producer), " is a view and ", object,
                  " modified inplace.");
  }
  fail(ErrorKind::runtime, head, creation_text(creation));
}

// Return a base as its view reads it: real and imaginary parts, conjugates, or unchanged.
Tensor read_as(const TensorImpl& view, const Tensor& base) {
  const GradMode recording(true);
  if (is_complex(base->dtype()) != is_complex(view.dtype()))
    return is_complex(base->dtype()) ? ops::view_as_real(base) : ops::view_as_complex(base);
  return base->is_conjugate() != view.is_conjugate() ? ops::conj(base) : base;
}

// Rebuild a view's node after its base was changed in place: a new window on the base's new history.
void rebuild_view_node(const Tensor& view) {
  AutogradMeta& meta = *view->meta();
  refuse_forbidden_view(meta, true);
  if (meta.view->replay) {
    const GradMode recording(true);
    const Tensor again = meta.view->replay(meta.view->base);
    meta.grad_fn = grad_fn(again);
    meta.output_nr = again->meta()->output_nr;
    meta.view->attr_version = view->version();
    return;
  }
  const Tensor seen = read_as(*view, meta.view->base);
  const Window window = replayed_window(*view);
  const bool is_whole_conversion = seen != meta.view->base && seen->sizes() == window.sizes &&
                                   seen->strides() == window.strides && seen->offset() == window.offset;
  meta.grad_fn = is_whole_conversion
                     ? grad_fn(seen)
                     : ops::as_strided_node(seen, *alias(view, window.sizes, window.strides, window.offset));
  meta.output_nr = 0;
  meta.view->attr_version = view->version();
}

// Move a tensor's retain_grad hook to its new node. Since 2.0 PyTorch looks for the hook by the tensor's output number,
// which a base has from its old node: it gets the new one afterwards. PyTorch asserts that such a hook exists, and
// moves it even if it belongs to another output.
void move_retained_grad(const Tensor& tensor, const NodePtr& old_node, Node* new_node) {
  AutogradMeta& meta = *tensor->meta();
  const bool is_by_number = has(*current_policy(), traits::one_retains_grad_hook_per_output);
  if (!meta.retains_grad || (!old_node && !is_by_number)) return;
  if (!has(*current_policy(), traits::retained_gradient_moves)) return;
  if (!is_by_number && meta.grad_fn.get() != new_node) return;  // before 2.0 that of a base stays
  require(static_cast<bool>(old_node), "old_fn INTERNAL ASSERT FAILED at ", variable_file, ":205", please_report);
  auto& hooks = old_node->retains_grad_hooks;
  const auto found = std::find_if(hooks.begin(), hooks.end(), [&](const auto& entry) {
    return is_by_number ? entry.input_nr == meta.output_nr : entry.hook == meta.retains_grad;
  });
  require(found != hooks.end() || !is_by_number, "out != nullptr INTERNAL ASSERT FAILED at ", variable_file, ":207",
          please_report);
  const auto moved = found != hooks.end() ? found->hook : meta.retains_grad;
  if (found != hooks.end()) hooks.erase(found);
  new_node->add_retains_grad_hook(is_by_number || meta.grad_fn.get() == new_node ? meta.output_nr : 0, moved);
}

// A tensor's hooks stay with its old node (since 2.0 its wrapper releases them, too); only retain_grad moves.
void leave_hooks_behind(const Tensor& tensor, const NodePtr& old_node, Node* new_node) {
  const auto hooks_left_behind = std::move(tensor->meta()->hooks);  // freed last
  tensor->meta()->hooks.clear();
  const Policy& policy = *current_policy();
  if (has(policy, traits::inplace_change_drops_wrapper_hooks) && tensor->wrapper() != nullptr)
    host().drop_hooks(tensor->wrapper());
  move_retained_grad(tensor, old_node, new_node);
}

}  // namespace

NodePtr grad_fn(const Tensor& tensor) {
  AutogradMeta* meta = tensor->meta();
  if (meta == nullptr) return {};
  const bool may_need_node = view_of(meta) != nullptr && (meta->grad_fn || requires_grad(meta->view->base));
  if (may_need_node && meta->view->attr_version != tensor->version()) {
    const NodePtr old_node = meta->grad_fn;
    rebuild_view_node(tensor);
    leave_hooks_behind(tensor, old_node, meta->grad_fn.get());
  }
  return meta->grad_fn;
}

void rebase_history(const Tensor& changed, const NodePtr& node) {
  AutogradMeta& meta = changed->need_meta();
  const NodePtr old_node = meta.grad_fn;
  if (view_of(&meta) == nullptr) {
    set_history(changed, node);
    leave_hooks_behind(changed, old_node, node.get());
    return;
  }
  refuse_forbidden_view(meta, false);
  const Tensor base = meta.view->base;
  require(!is_leaf(*base) || !requires_grad(changed) || !has(*current_policy(), traits::refuses_dirty_view_of_leaf),
          leaf_view_text);
  const NodePtr old_base_node = base->meta() != nullptr ? base->meta()->grad_fn : NodePtr();
  node->add_input_metadata(*changed);
  const NodePtr copy = make_node<CopySlices>(base, *changed, node);
  base->need_meta();
  if (requires_grad(changed)) leave_hooks_behind(base, old_base_node, copy.get());  // as in PyTorch, by the view's flag
  set_history_at(base, copy, 0);
  grad_fn(changed);
}

ChangeListener* set_change_listener(ChangeListener* listener) {
  ChangeListener* previous = change_listener;
  change_listener = listener;
  return previous;
}

void check_inplace(const Tensor& tensor, bool recording) {
  if (change_listener != nullptr) change_listener->before_change(tensor);
  if (!recording || !is_recording()) return;
  const AutogradMeta* meta = tensor->meta();
  if (view_of(meta) != nullptr) {
    refuse_forbidden_view(*meta, false);
    require(!requires_grad(tensor) || !is_leaf(*meta->view->base), leaf_view_text);
    require(meta->view->base->dtype() == tensor->dtype() || !is_complex(tensor->dtype()),
            "gradlife's engine cannot record an in-place change of a tensor from view_as_complex()");
  }
  require(!requires_grad(tensor) || !is_leaf(*tensor), leaf_text());
}

namespace {

// Return the creation mode for a new view: no_grad and inference mode override all but in_custom_function.
CreationMeta creation_now(CreationMeta creation) {
  if (creation == CreationMeta::in_custom_function) return creation;
  if (inference_mode()) return CreationMeta::inference_mode;
  return grad_enabled() ? creation : CreationMeta::no_grad;
}

// Return the creation mode of a view of a view: inference mode wins; else the view's own, or its source's if that is
// normal.
CreationMeta creation_after(const ViewInfo& source, CreationMeta creation) {
  const bool is_inherited = creation == CreationMeta::normal || source.creation == CreationMeta::inference_mode;
  return is_inherited ? source.creation : creation;
}

}  // namespace

bool view_replay_enabled() { return replays_views; }
void set_view_replay_enabled(bool enabled) { replays_views = enabled; }

bool is_read_otherwise(const TensorImpl& view, const TensorImpl& source) {
  return view.dtype() != source.dtype() || view.is_conjugate() != source.is_conjugate();
}

namespace {

// Return a step that takes a window at the same distance from the start of any tensor as it has from that of `source`.
std::function<Tensor(const Tensor&)> window_step(const Window& window, const TensorImpl& source) {
  const int64_t distance = window.offset - source.offset();
  return [window, distance](const Tensor& tensor) {
    return ops::as_strided(tensor, window.sizes, window.strides, tensor->offset() + distance);
  };
}

void own_source(ViewInfo& info, const Tensor& source) {
  const bool is_owned = !info.sources.empty() && info.sources.back() == source;
  if (!is_owned && has(*current_policy(), traits::recorded_view_owns_source)) info.sources.push_back(source);
}

std::function<Tensor(const Tensor&)> chained(std::function<Tensor(const Tensor&)> first,
                                             std::function<Tensor(const Tensor&)> step) {
  return [first = std::move(first), step = std::move(step)](const Tensor& base) { return step(first(base)); };
}

}  // namespace

// Record how to make the view anew from its base: first the source's steps, or its window if it has none, then `step`.
void remember_step(const Tensor& view, const Tensor& source, std::function<Tensor(const Tensor&)> step) {
  if (view->meta() == nullptr || !view->meta()->view) return;
  const ViewInfo* before = source->meta() != nullptr ? source->meta()->view.get() : nullptr;
  if (view->is_conjugate() != source->is_conjugate()) own_source(*view->meta()->view, source);
  if (!view_replay_enabled() && (before == nullptr || !before->replay)) return;  // its window expresses it
  if (before != nullptr) {
    auto first = before->replay ? before->replay : window_step(replayed_window(*source), *before->base);
    step = chained(std::move(first), std::move(step));
  }
  view->meta()->view->replay = std::move(step);
}

Tensor make_view(const Tensor& source, const Dims& sizes, const Dims& strides, int64_t offset, CreationMeta creation) {
  return make_view_as(source->dtype(), source, sizes, strides, offset, creation);
}

Tensor make_view_as(DType dtype, const Tensor& source, const Dims& sizes, const Dims& strides, int64_t offset,
                    CreationMeta creation) {
  Tensor view = ViewFromWatcher::take_view();
  if (!view) view = alias_as(dtype, source, sizes, strides, offset);
  if (is_in_watcher()) {
    if (!source->is_inference()) view->set_has_version();
    return view;
  }
  view->share_version(source->version_counter());
  if (source->is_inference()) return view;
  require(source->has_version(), no_version_text);
  // In OneFlow a view made without recording has no base.
  if (current_policy()->is_oneflow && !grad_enabled()) return view;
  const ViewInfo* of_source = source->meta() != nullptr ? source->meta()->view.get() : nullptr;
  auto info = std::make_unique<ViewInfo>();
  info->base = of_source != nullptr ? of_source->base : source;
  info->creation = creation_now(creation);
  if (of_source != nullptr) {
    info->creation = creation_after(*of_source, info->creation);
    info->sources = of_source->sources;
  }
  if (replays_views || dtype != source->dtype()) own_source(*info, source);
  info->attr_version = view->version();
  if (of_source != nullptr && of_source->replay && dtype == source->dtype())
    info->replay = chained(of_source->replay, window_step({sizes, strides, offset}, *source));
  view->need_meta().view = std::move(info);
  remember_window(view);
  return view;
}

void remember_window(const Tensor& view) {
  if (view->meta() == nullptr || !view->meta()->view) return;
  ViewInfo& info = *view->meta()->view;
  info.original_window.reset();
  if (view->dtype() == info.base->dtype() && view->is_conjugate() == info.base->is_conjugate()) return;
  info.original_window = std::make_unique<Window>(Window{view->sizes(), view->strides(), view->offset()});
}

}  // namespace gradlife
