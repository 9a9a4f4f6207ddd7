#include "engine_py/functions/function.hpp"

#include <string>

#include "base/events.hpp"
#include "base/immortal.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/graph/error_nodes.hpp"
#include "engine/ops/ops.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/user_code.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

// Specs of custom nodes, by the name of the context's class. They are few and live as long as the process.
const NodeSpec* spec_of(const char* name) {
  static auto* specs = new std::vector<const NodeSpec*>;
  for (const NodeSpec* spec : *specs)
    if (std::string(spec->name) == name) return spec;
  const char* kept = immortal(std::string(name)).c_str();
  specs->push_back(&immortal(NodeSpec{kept, {{"tensors", SavedField::Type::tensor_list}}}));
  return specs->back();
}

// The name of a context's node. Up to 1.4 that of a legacy Function, which is its own context, has a suffix.
std::string node_name(PyObject* context) {
  if (function_object(context)->policy->legacy_functions == LegacyFunctions::refused) return short_name(context);
  const Ref legacy = Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(context)), "_is_legacy"));
  if (!legacy) drop_error();
  return std::string(short_name(context)) + (legacy.get() == Py_True ? "LegacyBackward" : "");
}

// A control block over a node inside its context: owning it means owning a reference to the context.
class ContextBlock final : public RefCounted {
 public:
  ContextBlock(PyObject* context, ExitPolicy exit) : context_(Handle::borrow(context, exit)) {}

 protected:
  void dispose() override { context_.reset(); }

 private:
  Handle context_;
  LiveCount<Kind::block> count_;
};

}  // namespace

PyNode::PyNode(PyObject* context, bool owns_context, Identity identity)
    : Node(identity), context_(context), owns_context_(owns_context), spec_(spec_of(node_name(context).c_str())) {
  if (owns_context_) Py_INCREF(context_);
}

bool PyNode::is_solely_owned(const NodePtr& owner) const {
  if (context_ == nullptr) return false;
  return identity() == Identity::coupled ? owner.use_count() == 2 : owner.use_count() == 1;
}

RefCounted* PyNode::new_owner() {
  const FunctionOwnership ownership = policy().function_ownership;
  if (ownership == FunctionOwnership::ctx_owns_node || ownership == FunctionOwnership::refcount_check)
    return new ContextBlock(context_, policy().interpreter_exit);
  return Node::new_owner();
}

bool PyNode::may_be_stripped() const {
  if (policy().function_ownership == FunctionOwnership::ctx_owns_node) return true;
  return policy().function_ownership == FunctionOwnership::refcount_check && context_ != nullptr &&
         is_referenced_once(context_);
}

void PyNode::release_variables() {
  Node::release_variables();
  for (size_t i = 0; i < saved.size(); ++i) saved[i].reset();
  if (context_ == nullptr) return;
  function_object(context_)->has_freed_buffers = true;
  // OneFlow drops a node's closure and its context if something was saved; otherwise the node can run again.
  if (policy().is_oneflow && owns_context_ && use_count() > 0 && !saved.empty()) drop_context();
}

void PyNode::drop_context() {
  function_object(context_)->node = WeakNodePtr();
  const Handle last = Handle::steal(context_, policy().interpreter_exit);
  disown_context();
}

void PyNode::let_go() {
  release_variables();
  Node::let_go();
  PyObject* context = context_;
  context_ = nullptr;
  if (!owns_context_) return;
  const Handle last = Handle::steal(context, policy().interpreter_exit);
}

void PyNode::visit_owned(OwnedVisitor& visitor) const {
  if (context_ != nullptr) {
    const Ownership ownership = identity() == Identity::coupled ? Ownership::coupled
                                : owns_context_                 ? Ownership::strong
                                                                : Ownership::borrowed;
    visitor.object("context", context_, ownership);
  }
  Node::visit_owned(visitor);
}

TensorList PyNode::materialize(TensorList gradients) const {
  if (!function_object(context_)->materialize_grads) return gradients;
  for (size_t i = 0; i < gradients.size() && i < output_info.size(); ++i)
    if (!gradients[i] && output_info[i].is_defined) gradients[i] = zeros_like(output_info[i]);
  return gradients;
}

// Returns the gradients that backward returned, one for each tensor among forward's inputs. Errors: too many or too
// few, or one for an input that is not a tensor.
TensorList PyNode::collect(Borrowed result) const {
  const Ref tuple = PyTuple_Check(result.get()) ? Ref::borrow(result) : checked(PyTuple_Pack(1, result.get()));
  Py_ssize_t count = PyTuple_GET_SIZE(tuple.get());
  const Py_ssize_t expected = static_cast<Py_ssize_t>(is_tensor_input.size());
  while (count > expected && PyTuple_GET_ITEM(tuple.get(), count - 1) == Py_None) --count;
  if (count != expected)
    raise_python(PyExc_RuntimeError, "function %s returned an incorrect number of gradients (expected %zd, got %zd)",
                 name(), expected, PyTuple_GET_SIZE(tuple.get()));
  TensorList gradients;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* gradient = PyTuple_GET_ITEM(tuple.get(), i);
    if (is_tensor_input[static_cast<size_t>(i)]) {
      if (gradient != Py_None && !is_tensor(gradient))
        raise_python(PyExc_RuntimeError, "expected Variable or None (got %s)", short_name(gradient));
      const size_t index = gradients.size();
      gradients.push_back(unwrap_optional(gradient));
      const bool is_zero = !gradients.back() && index < input_info.size() && input_info[index].is_defined;
      if (is_zero) gradients.back() = zeros_like(input_info[index]);
    } else if (gradient != Py_None) {
      raise_python(PyExc_RuntimeError,
                   "function %s returned a gradient different than None at position %zd, but the corresponding forward "
                   "input was not a Variable",
                   name(), i + 1);
    }
  }
  return gradients;
}

// Returns the gradients that _do_backward returned, without history: they can't be differentiated again.
TensorList PyNode::collect_legacy(const TensorList& gradients, Borrowed result) const {
  if (!PyTuple_Check(result.get())) raise_python(PyExc_TypeError, "_do_backward has to return a tuple");
  TensorList results;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.get()); ++i) {
    PyObject* gradient = PyTuple_GET_ITEM(result.get(), i);
    if (gradient != Py_None && !is_tensor(gradient))
      raise_python(PyExc_RuntimeError, "expected Variable (got '%s')'", short_name(gradient));
    results.push_back(unwrap_optional(gradient));
  }
  return with_delayed_error(gradients, results, std::string(name()) + " is not differentiable twice");
}

// Returns the arguments of backward. A boxed list is the gradients' only owner, so that backward can release each.
Ref PyNode::arguments_of(TensorList gradients) const {
  if (!function_object(context_)->takes_boxed_gradients) return wrap_tuple(gradients);
  return checked(PyTuple_Pack(1, wrap_list(gradients).get()));
}

TensorList PyNode::apply(TensorList&& gradients) {
  if (context_ == nullptr && policy().is_oneflow) fail_released(*this);
  require(context_ != nullptr, "the context of ", name(), " is gone");
  const Ref keep = Ref::borrow(context_);
  // A legacy Function is its own context and defines backward itself; a hostile __getattr__ may raise here.
  const Ref legacy = checked(PyObject_GetAttrString(context_, "_is_legacy"));
  if (legacy.get() == Py_True) {
    const Ref passed = wrap_tuple(gradients);
    return collect_legacy(gradients, checked(in_user_code([&] {
                                       return PyObject_CallMethod(context_, "_do_backward", "OO", passed.get(),
                                                                  Py_True);
                                     })).get());
  }
  const Ref arguments = arguments_of(materialize(std::move(gradients)));
  const char* method = function_object(context_)->takes_boxed_gradients ? "apply_boxed" : "apply";
  const Ref function = checked(PyObject_GetAttrString(context_, method));
  const Ref result = checked(in_user_code([&] { return PyObject_CallObject(function.get(), arguments.get()); }));
  return collect(result.get());
}

Tensor zeros_like(const TensorInfo& info) {
  Tensor zeros = ops::full(info.sizes, 0, info.dtype);
  zeros->bump_version();  // they are filled in place
  return zeros;
}

NodePtr node_of_context(PyObject* context) {
  const FunctionObject* object = function_object(context);
  if (object->head.impl != nullptr) return NodePtr::share(static_cast<Node*>(object->head.impl));
  return object->node.lock();
}

NodePtr attach_node(PyObject* context) {
  FunctionObject* object = function_object(context);
  object->was_applied = true;
  if (NodePtr live = node_of_context(context)) return live;
  if (object->policy->function_ownership != FunctionOwnership::node_owns_ctx) return {};
  const Identity identity = object->policy->is_oneflow ? object->policy->node_identity : Identity::rewrap;
  NodePtr made = make_node<PyNode>(context, true, identity);
  object->node = WeakNodePtr(made);
  return made;
}

}  // namespace gradlife
