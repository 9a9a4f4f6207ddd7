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

// The mode in which a view was made. It decides whether the view may be changed in place.
enum class CreationMeta : uint8_t { normal, in_custom_function, multi_output, no_grad, inference_mode };

struct Window {
  Dims sizes, strides;
  int64_t offset;
};

struct ViewInfo {
  Tensor base;
  // For a view that reads its base's elements by parts or conjugated: the window that it was made
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

// The dtype that the gradient of a tensor must have; nothing: any.
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
// Raise if an operation would be recorded on a view that may no longer be used. Call it before checking sizes.
void refuse_forbidden_view_of(const Tensor& input);
void refuse_forbidden_views(const TensorList& inputs);
void refuse_forbidden_views(std::initializer_list<const Tensor*> inputs);

// The node behind a tensor (backward/views.cpp). Rebuilds that of a view whose base was changed in place since. Empty
// for a leaf.
NodePtr grad_fn(const Tensor& tensor);
NodePtr grad_accumulator(const Tensor& leaf);
// With the namespace that PyTorch writes before nodes of its own: "torch::autograd::CopySlices".
std::string qualified_name(const Node& node);
// The name of a node's operation in error texts: from 2.13 on without the ending "Backward0".
std::string operation_name(const Node& node);
// The edge of this tensor: to its grad_fn, to its accumulator, or none.
Edge gradient_edge(const Tensor& tensor);
EdgeList gradient_edges(std::initializer_list<const Tensor*> tensors);
EdgeList gradient_edges(const TensorList& tensors);

// Makes `output` an output of `node`.
void set_history(const Tensor& output, const NodePtr& node);
void set_history_at(const Tensor& output, const NodePtr& node, uint32_t output_nr);
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
