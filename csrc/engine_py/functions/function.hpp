// Custom Functions: the Python context, the graph node, and how they own each other in each release.
//
//   ctx_owns_node         PyTorch up to 1.1: the node is part of its context. Each owner of the node gets its own
//                         control block, whose deleter drops a reference to the context.
//   node_owns_ctx         from 1.2 (PR 22983): the node owns the context; the context refers back weakly, and is empty
//                         once the node is gone.
//   coupled               2.13: the context is the node's wrapper, and the two counts are coupled.
//   weak_at_construction  rejected in review: the node is created with the context, which refers to it weakly.
//   refcount_check        rejected in review (PR 16888): like ctx_owns_node; its deleter checks the context's count.
#pragma once

#include <string>
#include <vector>

#include "base/pyref.hpp"
#include "engine/graph/node.hpp"
#include "engine/graph/saved_slot.hpp"
#include "engine_py/wrappers/objects.hpp"

namespace gradlife {

// Metadata of an output, enough to make a zero gradient for it.
struct TensorInfo {
  Dims sizes;
  DType dtype = DType::float32;
  bool is_defined = false;
};

class PyNode final : public Node {
 public:
  // `owned_context`: a new reference to keep (node_owns_ctx), or nullptr if the context owns the node.
  PyNode(PyObject* context, bool owns_context, Identity identity);

  bool has_python_context() const override { return true; }
  Object* python_context() const override { return context_; }
  PyObject* context() const { return context_; }  // borrowed; nullptr once the context is gone
  void forget_context() { context_ = nullptr; }
  void disown_context() {
    context_ = nullptr;
    owns_context_ = false;
  }
  // Whether only `owner` keeps the context alive through this node.
  bool is_solely_owned(const NodePtr& owner) const;

  TensorList apply(TensorList&& gradients) override;
  const NodeSpec& spec() const override { return *spec_; }
  bool computes_all_outputs() const override { return true; }
  size_t slot_count() const override { return saved.size(); }
  SavedSlot& slot(size_t index) override { return saved[index]; }
  std::pair<size_t, size_t> slots_of_field(size_t) const override { return {0, saved.size()}; }
  void release_variables() override;
  RefCounted* new_owner() override;
  bool may_be_stripped() const override;
  void visit_owned(OwnedVisitor& visitor) const override;
  void renew() { released_ = false; }  // a legacy Function that is applied again

  std::vector<SavedSlot> saved;
  std::vector<TensorInfo> output_info;
  std::vector<TensorInfo> input_info;  // of the tensors; `is_defined`: None as its gradient becomes zeros (until 1.2)
  std::vector<bool> is_tensor_input;

 protected:
  void let_go() override;

 private:
  void drop_context();
  TensorList materialize(TensorList gradients) const;
  Ref arguments_of(TensorList gradients) const;
  TensorList collect(Borrowed result) const;
  TensorList collect_legacy(const TensorList& gradients, Borrowed result) const;

  PyObject* context_;
  bool owns_context_;
  const NodeSpec* spec_;
};

struct FunctionObject {
  WrapperObject head;  // impl: the node, if the context owns it
  PyObject* dict;
  PyObject* weakrefs;
  PyObject* needs_input_grad;
  PyObject* to_save;
  PyObject* non_differentiable;
  PyObject* dirty_tensors;
  PyObject* saved_for_forward;
  WeakNodePtr node;  // if the node owns the context, or neither owns the other
  const Policy* policy;
  bool materialize_grads;
  bool materializes_non_differentiable;
  bool has_freed_buffers;
  bool was_applied;
  bool clears_on_access;  // saved tensors can be read once; the reader then owns them
  bool were_saved_read;
  bool takes_boxed_gradients;  // backward gets one list, and may remove gradients that it no longer needs
};

inline FunctionObject* function_object(PyObject* object) { return reinterpret_cast<FunctionObject*>(object); }

Ref make_function_base();

// Returns the live node of a context as an owner; empty if the context was never applied or the node is gone.
NodePtr node_of_context(PyObject* context);
// Returns the node for a new application of this context, created now if the policy creates it now.
NodePtr attach_node(PyObject* context);

// function_apply.cpp
PyObject* function_apply(PyObject* type, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
// function_legacy.cpp
PyObject* function_do_forward(PyObject* self, PyObject* const* arguments, Py_ssize_t count);
PyObject* function_do_backward(PyObject* self, PyObject* const* arguments, Py_ssize_t count);

// Shared by both kinds of application.
struct UnpackedInputs {
  TensorList tensors;           // of all tensor arguments
  std::vector<bool> is_tensor;  // per argument
  EdgeList next_edges;          // collected before forward runs, because it may change an input in place
  Ref needs_input_grad;         // tuple of bool
  bool is_executable = false;
  bool has_setup_context = false;
};
UnpackedInputs unpack_inputs(PyObject* const* arguments, Py_ssize_t count);
// Zeros in the shape of an input or an output.
Tensor zeros_like(const TensorInfo& info);
Ref wrap_outputs(PyObject* context, const NodePtr& node, UnpackedInputs inputs, Ref outputs);

}  // namespace gradlife
