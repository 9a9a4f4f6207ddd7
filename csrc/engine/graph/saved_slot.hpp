// The slot in which a node keeps a tensor for its backward.
#pragma once

#include <memory>

#include "engine/graph/hooks.hpp"
#include "engine/graph/node.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

// Return the error text for unpacking a freed slot, in the wording of the release that the profile imitates.
const char* freed_text(const Policy& policy);
// Raise OneFlow's error for a second backward through `node`.
[[noreturn]] void fail_released(const Node& node);

// Saves a tensor and unpacks it with its history.
//
// An input is stored as it is, with its graph. The node's own output is stored without its grad_fn; otherwise the cycle
// output -> node -> slot -> output would leak. When an output is unpacked, the node becomes its grad_fn again.
//
// Three cases differ. With saved-tensor hooks, the slot stores what the pack hook returns, and beside it the grad_fn or
// the grad accumulator of an input. PyTorch before 1.10 stored an input as a detached alias, with the same two fields.
// Under the policy `owning`, the output itself is stored, so that the cycle leaks.
class SavedSlot {
 public:
  SavedSlot() = default;
  SavedSlot(const Tensor& tensor, bool is_output, bool is_inplace_on_view = false);
  SavedSlot(SavedSlot&&) = default;
  SavedSlot& operator=(SavedSlot&&) = default;
  // Return a slot in the state after backward: unpacking it raises.
  static SavedSlot make_freed() {
    SavedSlot slot;
    slot.was_set_ = true;
    return slot;
  }

  // Return the tensor with its history; `node_if_output` is the node if the tensor is its output, else null. An unpack
  // hook, if any, runs first. If an undefined tensor was saved, the result is an undefined tensor. Raise if the slot
  // was freed, or the tensor was changed or detached in place.
  Tensor unpack(const NodePtr& node_if_output = NodePtr()) const;
  // Unpack for the built-in operation `node`. If the tensor is an output of `node`, `node` becomes its grad_fn.
  Tensor unpack_for(const NodePtr& node) const { return unpack(is_output_ ? node : NodePtr()); }
  // Free the slot after backward. Under the policy trait `hooked_slot_keeps_accumulator`, the grad accumulator of a
  // slot with hooks is not freed.
  void release(const Policy& policy);
  void reset();  // free everything
  bool is_freed() const { return was_set_ && !data_ && !hooks_ && !prefetched_; }

  // Set hooks on this slot and pack. Raise if freed, never set or already hooked, or if pack raises or changes its
  // input.
  void register_hooks(std::unique_ptr<SavedHooks> hooks);
  const SavedHooks* hooks() const { return hooks_.get(); }
  const Tensor& raw() const { return data_; }  // the stored tensor, without version check and unpack hook

  // Unpack now and keep the result for the next unpack. The engine calls it before a node runs if the policy's unpack
  // schedule is `upfront`.
  void prefetch(const NodePtr& node_if_output);
  void drop_prefetched() { prefetched_.reset(); }
  void visit_owned(OwnedVisitor& visitor, const char* label, int64_t index = -1) const;

 private:
  void save_metadata(const Tensor& tensor);
  void pack(const Tensor& tensor);
  Tensor rebuild(const Tensor& data, const NodePtr& producer) const;
  void check_version(const NodePtr& producer) const;

  Tensor data_;
  std::unique_ptr<SavedHooks> hooks_;
  NodePtr grad_fn_;           // of an input that is no leaf and is not stored as it is
  NodePtr grad_accumulator_;  // of an input that is a leaf and is not stored as it is
  WeakNodePtr weak_grad_fn_;  // of an output of an in-place operation on a view; weak to avoid a cycle
  VersionPtr version_;
  mutable Tensor prefetched_;
  uint32_t saved_version_ = 0;
  uint32_t output_nr_ = 0;
  bool was_set_ = false;
  bool is_output_ = false;
  bool is_leaf_ = false;
  bool keeps_original_ = false;
  bool requires_grad_ = false;
  // Whether unpacking raises: the input is a view that has neither a grad_fn nor an accumulator, because its base
  // began to require grad after the view was made.
  bool lacks_accumulator_ = false;
  bool is_inplace_on_view_ = false;
  std::unique_ptr<LiveCount<Kind::saved>> count_;
};

}  // namespace gradlife
