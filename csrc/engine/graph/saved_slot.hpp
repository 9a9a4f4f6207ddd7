// The place where a node keeps a tensor for its backward.
#pragma once

#include <memory>

#include "engine/graph/hooks.hpp"
#include "engine/graph/node.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

// The error text of a release when a freed slot is unpacked.
const char* freed_text(const Policy& policy);
[[noreturn]] void fail_released(const Node& node);  // OneFlow: of a node that has run

// Saves a tensor so that keeping it does not keep the graph that made it, and gives it back with its history.
//
// An input is kept as itself. The node's own output is kept without its grad_fn, which would close a cycle
// output -> node -> slot -> output; the node is put back at unpack time (`saved_for`). The policy `owning` keeps the
// output itself and so closes that cycle. Releases before 1.10 kept no tensor itself, only its data.
class SavedSlot {
 public:
  SavedSlot() = default;
  SavedSlot(const Tensor& tensor, bool is_output, bool is_inplace_on_view = false);
  SavedSlot(SavedSlot&&) = default;
  SavedSlot& operator=(SavedSlot&&) = default;
  static SavedSlot freed() {
    SavedSlot slot;
    slot.was_set_ = true;
    return slot;
  }

  // The tensor, with its history. Runs the unpack hook where there is one. Empty: nothing was saved (an undefined
  // tensor). Errors: freed already; changed in place since; detached in place since.
  Tensor unpack(const NodePtr& saved_for = NodePtr()) const;
  // The same for the node of an operation: only its own output has a way back through the node. An input that was
  // detached in place since is refused; a custom Function's is not.
  Tensor unpack_for(const NodePtr& node) const { return unpack(is_output_ ? node : NodePtr()); }
  void release(const Policy& policy);  // buffers freed: what PyTorch keeps nevertheless stays
  void reset();
  bool is_set() const { return was_set_; }
  bool is_freed() const { return was_set_ && !data_ && !hooks_ && !prefetched_; }

  // Sets hooks on this slot and packs. Errors: freed; never set; hooks there already; pack raised or changed its input.
  void register_hooks(std::unique_ptr<SavedHooks> hooks);
  const SavedHooks* hooks() const { return hooks_.get(); }
  const Tensor& raw() const { return data_; }  // what is stored, unchecked and unhooked

  // Unpacks now and keeps the result for the next unpack (the `upfront` schedule).
  void prefetch(const NodePtr& saved_for);
  void drop_prefetched() { prefetched_.reset(); }
  void visit_owned(OwnedVisitor& visitor, const char* label, int64_t index = -1) const;

 private:
  void save_metadata(const Tensor& tensor);
  void pack(const Tensor& tensor);
  Tensor rebuild(const Tensor& data, const NodePtr& saved_for) const;
  void check_version(const NodePtr& saved_for) const;

  Tensor data_;
  std::unique_ptr<SavedHooks> hooks_;
  NodePtr grad_fn_;           // of a non-leaf that is not the node's own output
  NodePtr grad_accumulator_;  // of a leaf
  WeakNodePtr weak_grad_fn_;  // of an output that was changed in place on a view: weak, or it would close a cycle
  VersionPtr version_;
  mutable Tensor prefetched_;
  uint32_t saved_version_ = 0;
  uint32_t output_nr_ = 0;
  bool was_set_ = false;
  bool is_output_ = false;
  bool is_leaf_ = false;
  bool keeps_original_ = false;
  bool requires_grad_ = false;
  bool lacks_accumulator_ = false;
  bool is_inplace_on_view_ = false;
  std::unique_ptr<LiveCount<Kind::saved>> count_;
};

}  // namespace gradlife
