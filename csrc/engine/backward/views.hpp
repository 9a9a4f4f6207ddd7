// Views and in-place changes: who is whose base, what an in-place operation may touch, and how history moves behind it.
#pragma once

#include <functional>
#include <utility>

#include "engine/graph/autograd.hpp"

namespace gradlife {

// After an in-place operation recorded as `node`: moves `changed` behind it, through its base when it is a view.
void rebase_history(const Tensor& changed, const NodePtr& node);

// Called in this thread before any in-place operation changes a tensor; nullptr: nobody wants to know.
class ChangeListener {
 public:
  virtual void before_change(const Tensor& tensor) = 0;

 protected:
  ~ChangeListener() = default;
};
ChangeListener* set_change_listener(ChangeListener* listener);  // returns the previous one

// Errors when an in-place operation on `tensor` is not allowed now (a leaf that requires grad, a view of one, ...).
void check_inplace(const Tensor& tensor, bool recording);

// A view of `base` (of its base, if it is a view itself): shares storage and version counter and remembers the base.
Tensor make_view(const Tensor& source, const Dims& sizes, const Dims& strides, int64_t offset,
                 CreationMeta creation = CreationMeta::normal);
Tensor make_view_as(DType dtype, const Tensor& source, const Dims& sizes, const Dims& strides, int64_t offset,
                    CreationMeta creation = CreationMeta::normal);
// True if views remember the operations that made them, to rebuild their nodes from these.
bool view_replay_enabled();
void set_view_replay_enabled(bool enabled);
// True if sizes, strides and offset cannot express the view: its source reads elements by parts or conjugated.
bool must_remember(const TensorImpl& view, const TensorImpl& source);
void remember_step(const Tensor& view, const Tensor& source, std::function<Tensor(const Tensor&)> step);
template <class Step>
Tensor made_by(Tensor view, const Tensor& source, Step step) {
  if (view_replay_enabled() || must_remember(*view, *source)) remember_step(view, source, std::move(step));
  return view;
}

// Call this for a view that reads its source's elements by parts or conjugated.
void remember_window(const Tensor& view);

}  // namespace gradlife
