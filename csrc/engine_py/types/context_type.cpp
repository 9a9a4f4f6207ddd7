// The Python type of contexts, and what each of its attributes returns once the node is gone.

#include <new>

#include "base/events.hpp"
#include "engine/backward/graph_task.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/policy/release_texts.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/node_methods.hpp"
#include "engine_py/types/saved_tensor.hpp"
#include "engine_py/wrappers/node_hooks.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

constexpr const char* docs_link = "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function";
constexpr const char* extending_link = "https://pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd";

// If the context owns its node, both are created together.
void make_owned_node(PyObject* self) {
  FunctionObject* object = function_object(self);
  const FunctionOwnership ownership = object->policy->function_ownership;
  if (ownership == FunctionOwnership::node_owns_ctx) return;
  const bool is_coupled = ownership == FunctionOwnership::coupled;
  NodePtr made = make_node<PyNode>(self, false, is_coupled ? Identity::coupled : Identity::rewrap);
  if (ownership == FunctionOwnership::weak_at_construction) {
    object->node = WeakNodePtr(made);
    return;
  }
  object->head.impl = made.detach();
  object->head.owns_impl = true;
  if (is_coupled) object->head.impl->set_wrapper(self);
}

PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref self = checked(type->tp_alloc(type, 0));
    FunctionObject* object = function_object(self.get());
    new (&object->node) WeakNodePtr;
    object->policy = current_policy();
    object->materialize_grads = true;
    object->materializes_non_differentiable = true;
    count_live(Kind::context, 1);
    make_owned_node(self.get());
    return self.release();
  });
}

// Hooks are visited through a live node only; 2.x visits nothing through a weak pointer.
int visit_hooks_of_owner(const NodePtr& node, const Policy& policy, visitproc visit, void* arg) {
  if (!node || !has(policy, traits::collector_sees_context_hooks)) return 0;
  return visit_node_hooks(*node, visit, arg);
}

int function_traverse(PyObject* self, visitproc visit, void* arg) {
  FunctionObject* object = function_object(self);
  Py_VISIT(Py_TYPE(self));
  if (object->policy->is_oneflow) return 0;  // the collector does not track its contexts
  Py_VISIT(object->dict);
  if (has(*object->policy, traits::collector_sees_needs_input_grad)) Py_VISIT(object->needs_input_grad);
  Py_VISIT(object->to_save);
  Py_VISIT(object->non_differentiable);
  Py_VISIT(object->dirty_tensors);
  Py_VISIT(object->saved_for_forward);
  switch (object->policy->function_ownership) {
    case FunctionOwnership::coupled:
      if (object->head.impl == nullptr || object->head.impl->use_count() != 1) return 0;
      return visit_node_hooks(*static_cast<Node*>(object->head.impl), visit, arg);
    case FunctionOwnership::node_owns_ctx:
      return visit_hooks_of_owner(object->node.lock(), *object->policy, visit, arg);
    case FunctionOwnership::ctx_owns_node:
    case FunctionOwnership::refcount_check:
      return object->head.impl != nullptr ? visit_node_hooks(*static_cast<Node*>(object->head.impl), visit, arg) : 0;
    case FunctionOwnership::weak_at_construction:
      break;
  }
  return 0;
}

int function_clear(PyObject* self) {
  FunctionObject* object = function_object(self);
  const FunctionOwnership ownership = object->policy->function_ownership;
  // Hooks are cleared first, and their __del__ may read a half-cleared context: every field is either whole or NULL.
  if (ownership == FunctionOwnership::node_owns_ctx) {
    if (const NodePtr node = object->node.lock()) clear_node_hooks(*node);
  } else if (object->head.impl != nullptr &&
             (ownership != FunctionOwnership::coupled || object->head.impl->use_count() == 1)) {
    clear_node_hooks(*static_cast<Node*>(object->head.impl));
  }
  Py_CLEAR(object->dict);
  Py_CLEAR(object->needs_input_grad);
  Py_CLEAR(object->to_save);
  Py_CLEAR(object->non_differentiable);
  Py_CLEAR(object->dirty_tensors);
  Py_CLEAR(object->saved_for_forward);
  return 0;
}

// A context dies only after its node, because the node's owners also own the context. If somebody released a reference
// that they did not own, the node is notified, so that it does not release it again.
void check_node_is_gone(FunctionObject* object) {
  if (object->policy->function_ownership != FunctionOwnership::node_owns_ctx) return;
  const NodePtr node = object->node.lock();
  if (!node) return;
  static_cast<PyNode&>(*node).disown_context();
  PyErr_SetString(PyExc_RuntimeError, "a context is being deleted while its node, which owns it, is alive");
  PyErr_WriteUnraisable(reinterpret_cast<PyObject*>(state().function_base));
}

void function_dealloc(PyObject* self) {
  FunctionObject* object = function_object(self);
  PyObject_GC_UnTrack(self);
  check_node_is_gone(object);
  if (object->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  if (object->head.impl != nullptr) static_cast<PyNode*>(object->head.impl)->forget_context();
  function_clear(self);
  leave_impl(self);
  object->node.~WeakNodePtr();
  count_live(Kind::context, -1);
  free_object(self);
}

[[noreturn]] void raise_without_node(const FunctionObject* object, const char* attribute) {
  if (object->policy->is_oneflow)
    raise_python(PyExc_AttributeError, "'%s' object has no attribute '%s'",
                 reinterpret_cast<const PyObject*>(object)->ob_type->tp_name, attribute);
  const bool is_dict = std::string(attribute) == "_register_hook_dict";
  if ((is_dict || std::string(attribute) == "register_hook") &&
      has(*object->policy, traits::legacy_register_hook_text)) {
    const char* method = is_dict ? "register_hook" : "_register_hook";  // not the one that was called
    raise_python(PyExc_RuntimeError,
                 "Legacy autograd function had %s called before the function was invoked.  This usage pattern is no "
                 "longer supported: please call %s AFTER calling your function, or port your code to use non-legacy "
                 "autograd function, see: %s",
                 method, method, extending_link);
  }
  if (has(*object->policy, traits::refuses_legacy_access))
    raise_python(
        PyExc_RuntimeError,
        "Attribute '%s' is invalid for this instance of _C._FunctionBase. Accessing this attribute directly on an "
        "instance of autograd.Function is a legacy access pattern that is no longer supported. For examples on how to "
        "use new%sstyle autograd functions, see %s ",
        attribute, text_for(*object->policy, texts::hyphen), docs_link);
  raise_python(PyExc_RuntimeError,
               "Legacy autograd function had %s accessed before the function was invoked.  This doesn't make any "
               "sense: we have no idea what the next functions are, because you haven't actually inserted this grad_fn "
               "inside a graph.  Try invoking your function first before accessing this field.",
               attribute);
}

NodePtr need_node(PyObject* self, const char* attribute) {
  NodePtr node = node_of_context(self);
  if (!node) raise_without_node(function_object(self), attribute);
  return node;
}

using Methods = NodeMethods<need_node>;

PyObject* function_register_hook_dict(PyObject* self, PyObject* tensor) {
  return guarded([&] {
    if (!is_tensor(tensor))
      raise_python(PyExc_RuntimeError, "_register_hook_dict expected a %s",
                   text_for(*function_object(self)->policy, texts::tensor_of_hooks));
    register_hook_dict(*need_node(self, "_register_hook_dict"), tensor);
  });
}

PyObject* get_metadata(PyObject* self, void*) {
  return guarded([&] {
    const NodePtr node = node_of_context(self);
    if (!node)
      raise_python(
          PyExc_RuntimeError,
          "You attempted to access the anomaly metadata of a custom autograd function but the underlying PyNode has "
          "already been deallocated.  The most likely reason this occurred is because you assigned x.grad_fn to a "
          "local variable and then let the original variable get deallocated.  Don't do that!  If you really have no "
          "way of restructuring your code so this is the case, please file an issue reporting that you are affected by "
          "this.");
    return node_metadata(*node).release();
  });
}

PyCFunction fast_method(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// Refuses attributes that were added in a later release than the profile's.
void refuse_without(PyObject* self, const Trait& trait, const char* attribute) {
  if (!has(*function_object(self)->policy, trait))
    raise_python(PyExc_AttributeError, "'%s' object has no attribute '%s'", Py_TYPE(self)->tp_name, attribute);
}

PyObject* function_name(PyObject* self, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(need_node(self, "name")->name()); });
}

// A node may have freed its buffers or be dead: the first forbids the saved tensors, the second everything that needs
// the node.
std::vector<SavedSlot>* saved_of(PyObject* self, NodePtr& node) {
  const FunctionObject* object = function_object(self);
  if (object->has_freed_buffers) fail(ErrorKind::runtime, freed_text(*object->policy));
  node = node_of_context(self);
  if (!node && object->policy->is_oneflow) raise_without_node(object, "saved_tensors");
  return node ? &static_cast<PyNode*>(node.get())->saved : nullptr;
}

template <class Wrap>
PyObject* saved_tuple(PyObject* self, Wrap&& wrap_slot) {
  return guarded([&] {
    NodePtr node;
    std::vector<SavedSlot>* saved = saved_of(self, node);
    const size_t count = saved != nullptr && !function_object(self)->were_saved_read ? saved->size() : 0;
    return make_tuple(count, [&](size_t i) { return wrap_slot(node, i); }).release();
  });
}

// Empties the slots but keeps them, because a handle of one may exist.
void let_go_of_saved(PyObject* self) {
  function_object(self)->were_saved_read = true;
  const NodePtr node = node_of_context(self);
  for (size_t i = 0; node && i < node->slot_count(); ++i) node->slot(i).reset();
}

PyObject* get_saved_tensors(PyObject* self, void*) {
  PyObject* for_forward = function_object(self)->saved_for_forward;  // until forward has returned
  if (for_forward != nullptr) return Py_NewRef(for_forward);
  if (function_object(self)->were_saved_read) {
    PyErr_SetString(PyExc_RuntimeError,
                    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                    "autograd.Function. Either access saved_tensors only once, or set "
                    "clear_saved_tensors_on_access=False.");
    return nullptr;
  }
  PyObject* tensors = saved_tuple(self, [](const NodePtr& node, size_t i) { return wrap(node->slot(i).unpack(node)); });
  if (tensors != nullptr && function_object(self)->clears_on_access) let_go_of_saved(self);
  return tensors;
}

// Only for a running backward call that does not need the graph after this node; otherwise it does nothing.
PyObject* function_maybe_clear_saved_tensors(PyObject* self, PyObject*) {
  return guarded([&] {
    const GraphTask* task = current_task();
    const NodePtr node = node_of_context(self);
    if (node && task != nullptr && !task->options().keep_graph) node->release_variables();
  });
}

PyObject* get_saved_variables(PyObject* self, void* closure) {
  if (PyErr_WarnEx(PyExc_DeprecationWarning, "'saved_variables' is deprecated; use 'saved_tensors'", 1) < 0)
    return nullptr;
  return get_saved_tensors(self, closure);
}

PyObject* get_raw_saved_tensors(PyObject* self, void*) {
  return saved_tuple(self, [](const NodePtr& node, size_t i) { return wrap_saved_slot(node, i); });
}

struct LateMethod {
  PyMethodDef row;
  Trait trait;
};

PyObject* get_late_attribute(PyObject* self, void* closure) {
  return guarded([&]() -> PyObject* {
    LateMethod* method = static_cast<LateMethod*>(closure);
    refuse_without(self, method->trait, method->row.ml_name);
    return PyCFunction_New(&method->row, self);
  });
}

PyMethodDef do_backward_method = {"_do_backward", fast_method(function_do_backward), METH_FASTCALL, nullptr};
LateMethod name_method = {{"name", function_name, METH_NOARGS, nullptr}, traits::has_context_name};
LateMethod prehook_method = {{"register_prehook", Methods::register_prehook, METH_O, nullptr},
                             traits::has_node_prehooks};
LateMethod maybe_clear_method = {
    {"maybe_clear_saved_tensors", function_maybe_clear_saved_tensors, METH_NOARGS, nullptr},
    traits::has_maybe_clear_saved_tensors};

// Removed with the legacy Functions that needed it.
PyObject* get_legacy_backward(PyObject* self, void*) {
  const Policy& policy = *function_object(self)->policy;
  if (!policy.is_oneflow &&
      (policy.legacy_functions != LegacyFunctions::refused || has(policy, traits::has_do_backward)))
    return PyCFunction_New(&do_backward_method, self);
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '_do_backward'", Py_TYPE(self)->tp_name);
  return nullptr;
}

PyMethodDef function_methods[] = {{"apply", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function_apply)),
                                   METH_FASTCALL | METH_KEYWORDS | METH_CLASS, nullptr},
                                  {"_do_forward", fast_method(function_do_forward), METH_FASTCALL, nullptr},
                                  {"register_hook", Methods::register_hook, METH_O, nullptr},
                                  {"_register_hook_dict", function_register_hook_dict, METH_O, nullptr},
                                  {"_set_sequence_nr", Methods::set_sequence_nr, METH_O, nullptr},
                                  {"_sequence_nr", Methods::sequence_nr, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

// Can be set but not read, as in torch.
int set_materialize_grads(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || !PyBool_Check(value)) {
    PyErr_SetString(PyExc_TypeError,
                    "set_materialize_grads received an invalid combination of arguments - got (), but "
                    "expected (bool)");
    return -1;
  }
  function_object(self)->materialize_grads = value == Py_True;
  return 0;
}

int set_materialize_non_diff_grads(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || !PyBool_Check(value)) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "set_materialize_non_diff_grads received an invalid combination of arguments - got (), but expected (bool)");
    return -1;
  }
  function_object(self)->materializes_non_differentiable = value == Py_True;
  return 0;
}

PyGetSetDef function_attributes[] = {
    {"materialize_grads", nullptr, set_materialize_grads, nullptr, nullptr},
    {"_materialize_non_diff_grads", nullptr, set_materialize_non_diff_grads, nullptr, nullptr},
    {"next_functions", Methods::next_functions, nullptr, nullptr, nullptr},
    {"_input_metadata", Methods::input_metadata, nullptr, nullptr, nullptr},
    {"metadata", get_metadata, nullptr, nullptr, nullptr},
    {"requires_grad", Methods::requires_grad, nullptr, nullptr, nullptr},
    {"saved_tensors", get_saved_tensors, nullptr, nullptr, nullptr},
    {"saved_variables", get_saved_variables, nullptr, nullptr, nullptr},
    {"_raw_saved_tensors", get_raw_saved_tensors, nullptr, nullptr, nullptr},
    {"_do_backward", get_legacy_backward, nullptr, nullptr, nullptr},
    {"name", get_late_attribute, nullptr, nullptr, &name_method},
    {"register_prehook", get_late_attribute, nullptr, nullptr, &prehook_method},
    {"maybe_clear_saved_tensors", get_late_attribute, nullptr, nullptr, &maybe_clear_method},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef function_members[] = {
    {"needs_input_grad", T_OBJECT, offsetof(FunctionObject, needs_input_grad), 0, nullptr},
    {"to_save", T_OBJECT, offsetof(FunctionObject, to_save), 0, nullptr},
    {"non_differentiable", T_OBJECT, offsetof(FunctionObject, non_differentiable), 0, nullptr},
    {"dirty_tensors", T_OBJECT, offsetof(FunctionObject, dirty_tensors), 0, nullptr},
    {"saved_for_forward", T_OBJECT, offsetof(FunctionObject, saved_for_forward), 0, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

}  // namespace

Ref make_function_base() {
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(function_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(function_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(function_clear)},
                                {Py_tp_methods, function_methods},
                                {Py_tp_getset, function_attributes},
                                {Py_tp_members, function_members},
                                {0, nullptr}};
  static PyType_Spec spec = {"torch._C._FunctionBase", sizeof(FunctionObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  return checked(PyType_FromSpec(&spec));
}

}  // namespace gradlife
