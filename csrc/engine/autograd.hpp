// What differentiation knows about a tensor, and the rules that keep it right: history, views, in-place changes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/hooks.hpp"
#include "engine/lowering.hpp"
#include "engine/node.hpp"
#include "engine/tensor.hpp"

namespace gradlife {

bool grad_enabled();
void set_grad_enabled(bool enabled);

// Inside, nothing is recorded whatever grad mode says, and new tensors are inference tensors.
bool inference_mode();
void set_inference_mode(bool enabled);
// Whether operations record history now.
inline bool is_recording() { return grad_enabled() && !inference_mode() && !is_beneath(); }

class GradMode {
 public:
  explicit GradMode(bool enabled) : previous_(grad_enabled()) { set_grad_enabled(enabled); }
  ~GradMode() { set_grad_enabled(previous_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool previous_;
};

// How a view was made; decides what an in-place change of it may do.
enum class CreationMeta : uint8_t { normal, in_custom_function, multi_output, no_grad, inference_mode };

struct Window {
  Dims sizes, strides;
  int64_t offset;
};

struct ViewInfo {
  Tensor base;
  // Of a view that reads its base's elements in another way (by parts, or conjugated): the window that it was made
  // with. As in PyTorch that one is replayed, whatever the view was transposed to in place since.
  std::unique_ptr<Window> made_with;
  // Makes the view of a base anew, step by step, where that was asked for when the view was made; else one window does.
  std::function<Tensor(const Tensor&)> replay;
  CreationMeta creation = CreationMeta::normal;
  uint32_t attr_version = 0;  // version at which grad_fn was made; older than the counter: rebuild it from the base
};

struct AutogradMeta {
  NodePtr grad_fn;
  WeakNodePtr grad_accumulator;
  Tensor grad;
  std::vector<std::shared_ptr<TensorHook>> hooks;
  std::unique_ptr<PostAccumulateHook> post_accumulate_hook;
  std::unique_ptr<ViewInfo> view;
  std::shared_ptr<RetainsGradHook> retains_grad;
  Handle closure;  // over the tensor and what it was made of (policy `closure`); made when the tensor is first shown
  uint32_t output_nr = 0;
  bool requires_grad = false;
  bool awaits_closure = false;
  bool has_own_grad_dtype = false;  // else a gradient has the tensor's dtype
  bool takes_any_grad_dtype = false;
  DType own_grad_dtype = DType::float32;
};

// What dtype the gradient of a tensor is to have; nothing: it may have any.
std::optional<DType> grad_dtype(const TensorImpl& tensor);
void set_grad_dtype(const Tensor& tensor, std::optional<DType> dtype);

// Stands for a Python number among the inputs of an operation: never an inference tensor.
extern const Tensor number_operand;

bool requires_grad(const Tensor& tensor);  // it, or the graph behind it
inline bool is_leaf(const TensorImpl& tensor) { return tensor.meta() == nullptr || !tensor.meta()->grad_fn; }
// True when history is to be recorded for an operation on these tensors. Undefined (empty) tensors count as no.
bool needs_graph(std::initializer_list<const Tensor*> inputs);
bool needs_graph(const TensorList& inputs);
// For a result that PyTorch makes by writing into it this often: it shows in its version where nothing differentiates
// the operation, of an inference tensor outside of inference mode.
Tensor written(Tensor result, const Tensor& input, uint32_t times = 1);
// For an operation that PyTorch makes of a form with out=, named `name`: that one refuses to be recorded, and nothing
// but an inference tensor that requires grad, outside of inference mode, comes to it without being recorded above it.
void refuse_out_form(const Tensor& input, const char* name);
// Where an operation on these would be recorded: refuses views that may be used no more, before sizes are looked at.
void refuse_forbidden_view_of(const Tensor& input);
void refuse_forbidden_views(const TensorList& inputs);
void refuse_forbidden_views(std::initializer_list<const Tensor*> inputs);

// The node behind a tensor. Rebuilds that of a view whose base was changed in place since. Empty for a leaf.
NodePtr grad_fn(const Tensor& tensor);
NodePtr grad_accumulator(const Tensor& leaf);
// With the namespace that PyTorch writes before nodes of its own: "torch::autograd::CopySlices".
std::string qualified_name(const Node& node);
// What error texts call the operation behind a node: from 2.13 on without the ending "Backward0".
std::string operation_name(const Node& node);
// Where the gradient of this tensor goes: its grad_fn, its accumulator, or nowhere.
Edge gradient_edge(const Tensor& tensor);
EdgeList gradient_edges(std::initializer_list<const Tensor*> tensors);
EdgeList gradient_edges(const TensorList& tensors);

// Makes `output` an output of `node`.
void set_history(const Tensor& output, const NodePtr& node);
void set_history_at(const Tensor& output, const NodePtr& node, uint32_t output_nr);
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
// Whether views remember the operations that made them, so that their nodes are made anew with these.
bool view_replay_enabled();
void set_view_replay_enabled(bool enabled);
// Of a source that remembers: no window does for elements that are read in another way.
bool must_remember(const TensorImpl& view, const TensorImpl& source);
void remember_step(const Tensor& view, const Tensor& source, std::function<Tensor(const Tensor&)> step);
template <class Step>
Tensor made_by(Tensor view, const Tensor& source, Step step) {
  if (view_replay_enabled() || must_remember(*view, *source)) remember_step(view, source, std::move(step));
  return view;
}

// To be called for a view whose elements are read in another way than its source's.
void remember_window(const Tensor& view);
// The same window without history: storage and version counter shared (`detach`, `.data` has a counter of its own).
Tensor detach(const Tensor& tensor);
Tensor variable_data(const Tensor& tensor);
void detach_in_place(const Tensor& tensor);

void set_requires_grad(const Tensor& tensor, bool requires);
void retain_grad(const Tensor& tensor);

// Fills in `.grad` of a non-leaf as the gradient passes; holds its tensor weakly, or it would close a cycle.
class RetainsGradHook {
 public:
  explicit RetainsGradHook(const Tensor& tensor) : tensor_(tensor.get()) {}
  Tensor call(Tensor gradient);

 private:
  WeakPtr<TensorImpl> tensor_;
};

// Accumulates into `.grad` the way torch does: steals the gradient when it has no more owners than expected, else
// clones.
void accumulate_grad(const Tensor& variable, Tensor gradient, uint32_t expected_owners);

}  // namespace gradlife
