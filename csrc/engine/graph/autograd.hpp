// The autograd metadata of a tensor, and the rules that keep it right: history, views, in-place changes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/hooks.hpp"
#include "engine/graph/node.hpp"
#include "engine/tensor/modes.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

// How a view was made, which decides whether it may be changed in place.
enum class CreationMeta : uint8_t { normal, in_custom_function, multi_output, no_grad, inference_mode };

struct Window {
  Dims sizes, strides;
  int64_t offset;
};

struct ViewInfo {
  Tensor base;
  // For a view of real or imaginary parts or of conjugates: its original window. As in PyTorch, replay uses this window
  // even after the view was transposed in place.
  std::unique_ptr<Window> original_window;
  // Rebuilds the view from a base step by step, if enabled when the view was made; otherwise one window is used.
  std::function<Tensor(const Tensor&)> replay;
  std::vector<Tensor> sources;  // since 2.3 the inverse of a recorded step owns the tensor that the step was taken of
  CreationMeta creation = CreationMeta::normal;
  uint32_t attr_version = 0;  // version when grad_fn was made; if the counter is newer, rebuild grad_fn
};

struct AutogradMeta {
  NodePtr grad_fn;
  WeakNodePtr grad_accumulator;
  Tensor grad;
  std::vector<std::shared_ptr<TensorHook>> hooks;
  std::unique_ptr<PostAccumulateHook> post_accumulate_hook;
  std::unique_ptr<ViewInfo> view;
  std::shared_ptr<TensorHook> retains_grad;
  Handle closure;  // over the tensor and its inputs (policy `closure`); made with the first wrapper
  uint32_t output_nr = 0;
  bool requires_grad = false;
  bool awaits_closure = false;
  bool has_own_grad_dtype = false;  // otherwise gradients have the tensor's dtype
  bool takes_any_grad_dtype = false;
  DType own_grad_dtype = DType::float32;
};

// Return the dtype required of a tensor's gradient, or nothing if any is allowed.
std::optional<DType> grad_dtype(const TensorImpl& tensor);
void set_grad_dtype(const Tensor& tensor, std::optional<DType> dtype);

// Stands for a Python number among the inputs of an operation: never an inference tensor.
extern const Tensor number_operand;

bool requires_grad(const Tensor& tensor);  // the tensor or the graph behind it
inline bool is_leaf(const TensorImpl& tensor) { return tensor.meta() == nullptr || !tensor.meta()->grad_fn; }
// Whether an operation on these tensors must be recorded. Undefined (empty) tensors do not require it.
bool needs_graph(std::initializer_list<const Tensor*> inputs);
bool needs_graph(const TensorList& inputs);
// Count `times` writes in the version of a result that PyTorch fills in place. Visible only if autograd skips the
// operation: for an inference tensor outside inference mode.
Tensor written(Tensor result, const Tensor& input, uint32_t times = 1);
// Raise where PyTorch calls the out= form `name`, which cannot be recorded. Only an inference tensor that requires
// grad, outside inference mode, gets that far without being recorded earlier.
void refuse_out_form(const Tensor& input, const char* name);
// Raise if an operation would be recorded on a view that may no longer be used. Call it before checking sizes.
void refuse_forbidden_view_of(const Tensor& input);
void refuse_forbidden_views(const TensorList& inputs);
void refuse_forbidden_views(std::initializer_list<const Tensor*> inputs);

// Return a tensor's node, empty for a leaf (backward/views.cpp). Rebuilds a view's node if its base was changed in
// place.
NodePtr grad_fn(const Tensor& tensor);
NodePtr grad_accumulator(const Tensor& leaf);
// Return the name with PyTorch's namespace for built-in nodes: "torch::autograd::CopySlices".
std::string qualified_name(const Node& node);
// Return a node's operation name for error texts: since 2.13 without the suffix "Backward0".
std::string operation_name(const Node& node);
// Return the tensor's edge: to its grad_fn, to its accumulator, or none.
Edge gradient_edge(const Tensor& tensor);
EdgeList gradient_edges(std::initializer_list<const Tensor*> tensors);
EdgeList gradient_edges(const TensorList& tensors);

// Makes `output` an output of `node`.
void set_history(const Tensor& output, const NodePtr& node);
void set_history_at(const Tensor& output, const NodePtr& node, uint32_t output_nr);
// Return the same window without history. `detach` shares storage and version counter; `.data` has its own counter.
Tensor detach(const Tensor& tensor);
Tensor variable_data(const Tensor& tensor);
void detach_in_place(const Tensor& tensor);

void set_requires_grad(const Tensor& tensor, bool is_required);
void retain_grad(const Tensor& tensor);

// Fills in `.grad` of a non-leaf as the gradient passes; holds its tensor weakly to avoid a cycle.
class RetainsGradHook final : public TensorHook {
 public:
  explicit RetainsGradHook(const Tensor& tensor) : tensor_(tensor.get()) {}
  void visit_owned(OwnedVisitor&) const override {}
  Tensor call(Tensor gradient) override;

 private:
  WeakPtr<TensorImpl> tensor_;
};

// Accumulate into `.grad` as torch does: steal the gradient if it has at most `expected_owners`, otherwise clone it.
void accumulate_grad(const Tensor& variable, Tensor gradient, uint32_t expected_owners);

}  // namespace gradlife
