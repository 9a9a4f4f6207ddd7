#include "engine/graph/saved_slot.hpp"

#include "base/events.hpp"
#include "base/labels.hpp"
#include "engine/graph/anomaly.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/policy/release_texts.hpp"

namespace gradlife {
namespace {

bool keeps_original(const Policy& policy, bool is_output, bool is_leaf) {
  if (policy.saved_slot == SavedSlotPolicy::owning) return true;
  if (policy.saved_slot == SavedSlotPolicy::closure) return false;  // OneFlow: its backward closure holds the originals
  return (!is_output || is_leaf) && has(policy, traits::slot_keeps_input);
}

// Before 1.10 requires_grad of a view was that of its base. If the base got its grad_fn later, by an in-place
// operation, the view requires grad without a grad_fn: it looks like a leaf, but has no grad accumulator.
bool requires_grad_by_base_alone(const Tensor& tensor) {
  const Policy& policy = tensor->policy();
  if (!has(policy, traits::view_requires_grad_by_base) || tensor->meta() == nullptr) return false;
  return !tensor->meta()->requires_grad && requires_grad(tensor);
}

}  // namespace

const char* freed_text(const Policy& policy) {
  return has(policy, traits::shows_saved_values) ? text_for(policy, texts::freed)
                                                 : text_for(policy, texts::freed_before_1_9);
}

void fail_released(const Node& node) {
  fail(ErrorKind::any, "This FunctionNode with name `", node.name(),
       "` has been released.\nMaybe you try to backward through the node a second time. Specify retain_graph=True when "
       "calling .backward() or autograd.grad() the first time.");
}

namespace {

// Return a detached alias that shares the tensor's version counter. An active dispatch mode is asked to detach.
Tensor detached_alias(const Tensor& tensor) {
  if (operation_watcher() == nullptr) return detach(tensor);
  Tensor alias = only(ask_watcher("detach.default", tensor, true));
  if (tensor->has_version()) alias->share_version(tensor->version_counter());
  return alias;
}

}  // namespace

SavedSlot::SavedSlot(const Tensor& tensor, bool is_output, bool is_inplace_on_view) {
  if (!tensor) return;
  require(
      !tensor->is_inference(),
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
      "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
      "in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
  require(tensor->has_version(), no_version_text);
  count_ = std::make_unique<LiveCount<Kind::saved>>();
  was_set_ = true;
  is_output_ = is_output;
  if (has(*current_policy(), traits::saving_reads_node)) grad_fn(tensor);  // so that a changed view gets its new node
  is_leaf_ = is_leaf(*tensor);
  is_inplace_on_view_ = is_inplace_on_view;
  version_ = tensor->version_counter();
  saved_version_ = tensor->version();
  record(EventKind::saved, *tensor, is_output ? "output" : "input");
  if (is_inplace_on_view_) weak_grad_fn_ = WeakNodePtr(grad_fn(tensor));
  if (!tensor->is_wrapped_number() || has(*current_policy(), traits::packs_saved_numbers)) {
    if (std::unique_ptr<SavedHooks> hooks = default_saved_hooks()) {
      save_metadata(tensor);
      hooks_ = std::move(hooks);
      pack(tensor);
      return;
    }
  }
  if (keeps_original(*current_policy(), is_output_, is_leaf_)) {
    keeps_original_ = true;
    data_ = tensor;
    return;
  }
  save_metadata(tensor);
  data_ = detached_alias(tensor);
}

void SavedSlot::save_metadata(const Tensor& tensor) {
  if (const AutogradMeta* meta = tensor->meta()) output_nr_ = meta->output_nr;
  if (is_leaf_) {
    lacks_accumulator_ = !is_output_ && requires_grad_by_base_alone(tensor);
    requires_grad_ = requires_grad(tensor);
    require(!requires_grad_ || is_leaf(*tensor), "grad_accumulator() should be only called on leaf Variables");
    if (requires_grad_) grad_accumulator_ = grad_accumulator(tensor);
  } else if (!is_output_) {
    grad_fn_ = grad_fn(tensor);
  }
}

void SavedSlot::pack(const Tensor& tensor) {
  GradMode no_grad(false);
  const uint32_t version = tensor->version();
  hooks_->pack(keeps_original_ ? detached_alias(tensor) : tensor);
  record(EventKind::packed, *tensor);
  require(
      version == tensor->version(),
      "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook ",
      text_for(*current_policy(), texts::cannot),
      " be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
      "need to perform in-place operations on the input to a pack hook.");
}

void SavedSlot::register_hooks(std::unique_ptr<SavedHooks> hooks) {
  require(!hooks_,
          "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
          "allowed at a time.");
  require(was_set_, "Calling register_hooks on a saved tensor with value None is forbidden");
  require(
      static_cast<bool>(data_),
      "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
      "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through "
      "the graph a second time or if you need to access saved variables after calling backward.");
  if (keeps_original_) save_metadata(data_);
  hooks_ = std::move(hooks);
  const Tensor data = data_;
  pack(data);
  keeps_original_ = false;
  data_.reset();
}

void SavedSlot::check_version(const NodePtr& producer) const {
  const uint32_t now = keeps_original_ ? data_->version() : version_->value;
  if (now == saved_version_ || current_policy()->is_oneflow) return;  // OneFlow has no version counters
  const std::string origin =
      producer ? concat(", which is output ", output_nr_, " of ", operation_name(*producer), ",") : std::string();
  fail(ErrorKind::runtime,
       "one of the variables needed for gradient computation has been modified by an inplace operation: [",
       legacy_type_name(data_->dtype()), " ", data_->sizes(), "]", origin, " is at version ", now,
       "; expected version ", saved_version_, " instead. Hint: ",
       anomaly_mode.is_enabled
           ? "the backtrace further above shows the operation that failed to compute its gradient. The variable in "
             "question was changed in there or anywhere later. Good luck!"
           : concat("enable anomaly detection to find the operation that failed to compute its gradient, with "
                    "torch.autograd.set_detect_anomaly(True",
                    text_for(*current_policy(), texts::check_nan), ")."));
}

Tensor SavedSlot::unpack(const NodePtr& node_if_output) const {
  if (!was_set_) return {};
  if (prefetched_) return std::move(prefetched_);
  if (!data_ && !hooks_) {
    if (node_if_output && node_if_output->policy().is_oneflow) fail_released(*node_if_output);
    fail(ErrorKind::runtime, freed_text(node_if_output ? node_if_output->policy() : *current_policy()));
  }
  NodePtr producer = is_inplace_on_view_          ? weak_grad_fn_.lock()
                     : keeps_original_ && !hooks_ ? grad_fn(data_)
                                                  : grad_fn_;
  if (!is_leaf_ && !producer) {
    require(static_cast<bool>(node_if_output),
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, "
            "please use out-of-place `.detach()` instead");
    producer = node_if_output;
  }
  if (!hooks_) check_version(producer);
  require(!lacks_accumulator_, "No grad accumulator for a saved leaf!");
  if (!hooks_ && keeps_original_) return data_;
  const Tensor data = hooks_ ? hooks_->unpack() : data_;
  if (hooks_) record(EventKind::unpacked, *data);
  return rebuild(data, producer);
}

Tensor SavedSlot::rebuild(const Tensor& data, const NodePtr& producer) const {
  const bool is_plain = !producer && !requires_grad_ && !requires_grad(data);
  const bool is_strict = !has(*current_policy(), traits::unpacks_plain_as_is);
  if (is_plain && !is_strict) return data;
  require(!data->is_inference() || !(is_strict || data->has_version()),
          "Cannot set version_counter for inference tensor");
  const Tensor tensor = detached_alias(data);
  if (producer) {
    AutogradMeta& meta = tensor->need_meta();
    meta.grad_fn = producer;
    meta.output_nr = output_nr_;
  } else if (requires_grad_) {
    require(is_differentiable(data->dtype()), "Only Tensors of floating point and complex dtype can require gradients");
    AutogradMeta& meta = tensor->need_meta();
    meta.requires_grad = true;
    meta.grad_accumulator = WeakNodePtr(grad_accumulator_);
  }
  return tensor;
}

void SavedSlot::prefetch(const NodePtr& node_if_output) {
  if (!was_set_ || is_freed()) return;
  prefetched_ = unpack(node_if_output);
}

// A slot owns the accumulator of a leaf that it saved through hooks. From 2.0 on, a released slot still keeps it.
void SavedSlot::release(const Policy& policy) {
  NodePtr accumulator;
  if (has(policy, traits::hooked_slot_keeps_accumulator)) std::swap(accumulator, grad_accumulator_);
  reset();
  std::swap(accumulator, grad_accumulator_);
}

void SavedSlot::reset() {
  data_.reset();
  hooks_.reset();
  prefetched_.reset();
  grad_fn_.reset();
  grad_accumulator_.reset();
  version_.reset();
  count_.reset();
}

void SavedSlot::visit_owned(OwnedVisitor& visitor, const char* label, int64_t index) const {
  if (data_) visitor.managed(label, data_.get(), Ownership::strong, index);
  if (hooks_) hooks_->visit_owned(visitor);
  if (grad_fn_) visitor.managed(labels::saved_grad_fn, grad_fn_.get(), Ownership::strong);
  if (grad_accumulator_) visitor.managed(labels::saved_accumulator, grad_accumulator_.get(), Ownership::strong);
  if (const NodePtr weak = weak_grad_fn_.lock()) visitor.managed(labels::saved_grad_fn, weak.get(), Ownership::weak);
}

}  // namespace gradlife
