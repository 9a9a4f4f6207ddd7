// Views and in-place changes: the base of a view, what may be changed in place, and how history follows.
#pragma once

#include <functional>
#include <utility>

#include "engine/graph/autograd.hpp"

namespace gradlife {

// After an in-place operation recorded as `node`, make it the history of `changed`, through the base for a view.
void rebase_history(const Tensor& changed, const NodePtr& node);

// Called in this thread before any in-place change of a tensor; nullptr: none.
class ChangeListener {
 public:
  virtual void before_change(const Tensor& tensor) = 0;

 protected:
  ~ChangeListener() = default;
};
ChangeListener* set_change_listener(ChangeListener* listener);  // returns the previous one

// Raise if an in-place operation on `tensor` is not allowed (a leaf that requires grad, a view of one, ...).
void check_inplace(const Tensor& tensor, bool recording);

// Make a view of `source`, or of its base if it is a view. It shares storage and version counter and owns the base.
Tensor make_view(const Tensor& source, const Dims& sizes, const Dims& strides, int64_t offset,
                 CreationMeta creation = CreationMeta::normal);
Tensor make_view_as(DType dtype, const Tensor& source, const Dims& sizes, const Dims& strides, int64_t offset,
                    CreationMeta creation = CreationMeta::normal);
// Whether views record the operations that made them, to rebuild their nodes.
bool view_replay_enabled();
void set_view_replay_enabled(bool enabled);
// Whether the view reads real or imaginary parts, or conjugates: sizes, strides and offset do not express it.
bool is_read_otherwise(const TensorImpl& view, const TensorImpl& source);
void remember_step(const Tensor& view, const Tensor& source, std::function<Tensor(const Tensor&)> step);
template <class Step>
Tensor made_by(Tensor view, const Tensor& source, Step step) {
  if (view_replay_enabled() || is_read_otherwise(*view, *source)) remember_step(view, source, std::move(step));
  return view;
}

// Store the window of a view that reads real or imaginary parts, or conjugates.
void remember_window(const Tensor& view);

}  // namespace gradlife
