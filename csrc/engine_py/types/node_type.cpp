#include "engine_py/types/node_type.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "base/immortal.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/graph/saved_slot.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/node_methods.hpp"
#include "engine_py/types/saved_tensor.hpp"
#include "engine_py/wrappers/node_hooks.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {

Ref node_next_functions(const Node& node) {
  const EdgeList& edges = node.next_edges();
  return make_tuple(edges.size(), [&](size_t i) {
    return checked(Py_BuildValue("OI", wrap_node(edges[i].node).get(), edges[i].input_nr));
  });
}

Ref node_metadata(Node& node) {
  if (!node.metadata) node.metadata = Handle::steal(checked(PyDict_New()).release(), node.policy().interpreter_exit);
  return Ref::borrow(static_cast<PyObject*>(node.metadata.get()));
}

namespace {

Node& node_of(PyObject* self) {
  Managed* impl = head_of(self)->impl;
  require(impl != nullptr, "the node behind this object is gone");
  return *static_cast<Node*>(impl);
}

NodePtr owned_node(PyObject* self, const char*) { return NodePtr::share(&node_of(self)); }

using Methods = NodeMethods<owned_node>;

Ref wrap_value(const SavedValue& value) {
  switch (value.type) {
    case SavedValue::Type::integer:
      return checked(PyLong_FromLongLong(value.integer));
    case SavedValue::Type::index:  // PyTorch shows a negative one as an unsigned number
      return checked(PyLong_FromUnsignedLongLong(static_cast<uint64_t>(value.integer)));
    case SavedValue::Type::real:
      return checked(PyFloat_FromDouble(value.real));
    case SavedValue::Type::complex:
      return checked(PyComplex_FromDoubles(value.real, value.imaginary));
    case SavedValue::Type::boolean:
      return Ref::borrow(value.integer != 0 ? Py_True : Py_False);
    case SavedValue::Type::sizes:
      return make_tuple(value.sizes.size(), [&](size_t i) {
        return checked(PyLong_FromUnsignedLongLong(static_cast<uint64_t>(value.sizes[i])));
      });
    case SavedValue::Type::text:
      return checked(PyUnicode_FromString(value.text));
    case SavedValue::Type::list:
      return make_tuple(value.list.size(), [&](size_t i) { return wrap_value(value.list[i]); });
    case SavedValue::Type::none:
      break;
  }
  return Ref::borrow(Py_None);
}

template <class Wrap>
Ref wrap_field(Node& node, size_t field, Wrap&& wrap_slot) {
  const auto [first, last] = node.slots_of_field(field);
  if (node.spec().fields[field].type == SavedField::Type::tensor) return wrap_slot(first);
  return make_tuple(last - first, [&, first = first](size_t i) { return wrap_slot(first + i); });
}

PyObject* get_saved(PyObject* self, void* closure) {
  return guarded([&] {
    Node& node = node_of(self);
    const size_t field = reinterpret_cast<size_t>(closure);
    if (node.spec().fields[field].type == SavedField::Type::value) return wrap_value(node.saved_value(field)).release();
    const NodePtr owner = NodePtr::share(&node);
    return wrap_field(node, field, [&](size_t i) { return wrap(node.slot(i).unpack(owner)); }).release();
  });
}

PyObject* get_raw_saved(PyObject* self, void* closure) {
  return guarded([&] {
    Node& node = node_of(self);
    const NodePtr owner = NodePtr::share(&node);
    return wrap_field(node, reinterpret_cast<size_t>(closure), [&](size_t i) { return wrap_saved_slot(owner, i); })
        .release();
  });
}

PyObject* get_metadata(PyObject* self, void*) {
  return guarded([&] { return node_metadata(node_of(self)).release(); });
}

PyObject* get_variable(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const AccumulateGrad* accumulator = dynamic_cast<const AccumulateGrad*>(&node_of(self));
    return wrap(accumulator != nullptr ? accumulator->variable() : Tensor()).release();
  });
}

PyObject* node_name(PyObject* self, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(qualified_name(node_of(self)).c_str()); });
}

void check_call(const Node& node, PyObject* arguments) {
  const Py_ssize_t expected = static_cast<Py_ssize_t>(node.num_inputs());
  if (PyTuple_GET_SIZE(arguments) != expected)
    raise_python(PyExc_TypeError, "expected %zd arguments, got %zd instead", expected, PyTuple_GET_SIZE(arguments));
  for (Py_ssize_t i = 0; i < expected; ++i) {
    PyObject* argument = PyTuple_GET_ITEM(arguments, i);
    if (argument != Py_None && !is_tensor(argument)) raise_python(PyExc_TypeError, "argument %zd is not a Variable", i);
  }
}

// Runs the node directly on the given gradients; a single result is returned without a tuple.
PyObject* node_call(PyObject* self, PyObject* arguments, PyObject*) {
  return guarded([&] {
    const NodePtr node = NodePtr::share(&node_of(self));
    check_call(*node, arguments);
    TensorList results = node->apply(unwrap_list(arguments));
    if (results.size() == 1) return wrap(std::move(results[0])).release();
    return make_tuple(results.size(), [&](size_t i) { return wrap(std::move(results[i])); }).release();
  });
}

// Whether the wrapper shows the node's hooks: only if nobody else owns the node. Up to 1.13 it always did, so that the
// collector cleared hooks of live graphs (issue 102174).
bool shows_hooks(PyObject* self) {
  const Managed* impl = head_of(self)->impl;
  if (impl == nullptr || !head_of(self)->owns_impl) return false;
  return impl->use_count() == 1 || has(impl->policy(), traits::shared_node_shows_hooks);
}

// The type is not visited: torch's types are static, and these live as long as the module, which is never unloaded.
int node_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<NodeObject*>(self)->closure);
  if (!shows_hooks(self)) return 0;
  const Managed* impl = head_of(self)->impl;
  return visit_node_hooks(*static_cast<const Node*>(impl), visit, arg);
}

int node_clear(PyObject* self) {
  Managed* impl = head_of(self)->impl;
  if (impl != nullptr && head_of(self)->owns_impl && impl->use_count() == 1)
    clear_node_hooks(*static_cast<Node*>(impl));
  Py_CLEAR(reinterpret_cast<NodeObject*>(self)->closure);
  return 0;
}

void node_dealloc(PyObject* self) {
  if (resurrect_wrapper(self)) return;
  PyObject_GC_UnTrack(self);
  leave_impl(self);
  Py_CLEAR(reinterpret_cast<NodeObject*>(self)->closure);
  free_object(self);
}

// The first is left out if the release does not have it.
PyMethodDef node_methods[] = {{"register_prehook", Methods::register_prehook, METH_O, nullptr},
                              {"name", node_name, METH_NOARGS, nullptr},
                              {"register_hook", Methods::register_hook, METH_O, nullptr},
                              {"_register_hook_dict", Methods::register_hook_dict, METH_O, nullptr},
                              {"_set_sequence_nr", Methods::set_sequence_nr, METH_O, nullptr},
                              {"_sequence_nr", Methods::sequence_nr, METH_NOARGS, nullptr},
                              {nullptr, nullptr, 0, nullptr}};

// Attribute tables live as long as the process: CPython keeps pointers into them.
PyGetSetDef* make_attributes(const NodeSpec& spec, const Policy& policy) {
  std::vector<PyGetSetDef> table{{"next_functions", Methods::next_functions, nullptr, nullptr, nullptr},
                                 {"metadata", get_metadata, nullptr, nullptr, nullptr},
                                 {"_input_metadata", Methods::input_metadata, nullptr, nullptr, nullptr},
                                 {"requires_grad", Methods::requires_grad, nullptr, nullptr, nullptr}};
  if (std::string(spec.name) == "AccumulateGrad")
    table.push_back({"variable", get_variable, nullptr, nullptr, nullptr});
  for (size_t field = 0; has(policy, traits::shows_saved_values) && field < spec.fields.size(); ++field) {
    void* closure = reinterpret_cast<void*>(field);
    const char* saved = immortal(concat("_saved_", spec.fields[field].name)).c_str();
    table.push_back({saved, get_saved, nullptr, nullptr, closure});
    if (spec.fields[field].type == SavedField::Type::value || !has(policy, traits::shows_raw_saved)) continue;
    const char* raw = immortal(concat("_raw_saved_", spec.fields[field].name)).c_str();
    table.push_back({raw, get_raw_saved, nullptr, nullptr, closure});
  }
  table.push_back({nullptr, nullptr, nullptr, nullptr, nullptr});
  return immortal(std::move(table)).data();
}

Ref make_node_type(const Node& node) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                         {Py_tp_call, reinterpret_cast<void*>(node_call)},
                         {Py_tp_methods, node_methods + (has(node.policy(), traits::has_node_prehooks) ? 0 : 1)},
                         {Py_tp_getset, make_attributes(node.spec(), node.policy())},
                         {0, nullptr}};
  const char* qualified = immortal(concat("builtins.", node.name())).c_str();
  PyType_Spec type_spec = {qualified, sizeof(NodeObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Ref type = checked(PyType_FromSpec(&type_spec));
  // Error messages name a node's type as torch does, without a module.
  reinterpret_cast<PyTypeObject*>(type.get())->tp_name = qualified + std::strlen("builtins.");
  return type;
}

}  // namespace

PyTypeObject* node_type(const Node& node) {
  PyObject* types = state().node_types;
  // Two releases may share a name, but not the attributes.
  const char* format = !has(node.policy(), traits::shows_saved_values)  ? "%s before 1.9"
                       : !has(node.policy(), traits::shows_raw_saved)   ? "%s of 1.9"
                       : !has(node.policy(), traits::has_node_prehooks) ? "%s before 1.13"
                                                                        : "%s";
  const Ref key = checked(PyUnicode_FromFormat(format, node.name()));
  if (PyObject* known = PyDict_GetItemWithError(types, key.get())) return reinterpret_cast<PyTypeObject*>(known);
  if (PyErr_Occurred() != nullptr) throw PythonError();
  const Ref type = make_node_type(node);
  checked_status(PyDict_SetItem(types, key.get(), type.get()));
  return reinterpret_cast<PyTypeObject*>(type.get());
}

bool wraps_nodes(const PyTypeObject* type) {
  return type->tp_dealloc == node_dealloc || type == state().oneflow_node_type;
}

bool is_node_wrapper(PyObject* object) { return wraps_nodes(Py_TYPE(object)); }

NodePtr unwrap_node(PyObject* object) {
  if (PyObject_TypeCheck(object, state().function_base) != 0) {
    NodePtr node = node_of_context(object);
    if (!node) raise_python(PyExc_RuntimeError, "the node of this context is gone");
    return node;
  }
  if (!is_node_wrapper(object) || head_of(object)->impl == nullptr)
    raise_python(PyExc_TypeError, "expected a node of the graph, but got %.200s", Py_TYPE(object)->tp_name);
  return NodePtr::share(static_cast<Node*>(head_of(object)->impl));
}

}  // namespace gradlife
