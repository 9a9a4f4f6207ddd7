#include "engine_py/types/oneflow_node.hpp"

#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

struct OneFlowNodeObject {
  WrapperObject head;
  PyObject* weakrefs;
};

constexpr const char* takes_nothing =
    "%s(): incompatible function arguments. The following argument types are supported:\n    1. () -> None";

const Node& node_of(PyObject* self) {
  const Managed* impl = head_of(self)->impl;
  require(impl != nullptr, "the node behind this object is gone");
  return static_cast<const Node&>(*impl);
}

PyObject* get_next_functions(PyObject* self, void*) {
  return guarded([&] {
    const EdgeList& edges = node_of(self).next_edges();
    return make_tuple(edges.size(), [&](size_t i) { return wrap_node(edges[i].node); }).release();
  });
}

// Unfinished placeholders in OneFlow: properties over functions that take no argument, not even the node.
PyObject* refuse_attribute(PyObject*, void*) { return PyErr_Format(PyExc_TypeError, takes_nothing, ""); }

PyObject* refuse_hook(PyObject*, PyObject*) { return PyErr_Format(PyExc_TypeError, takes_nothing, "register_hook"); }

PyObject* node_name(PyObject* self, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(node_of(self).name()); });
}

void node_dealloc(PyObject* self) {
  if (resurrect_wrapper(self)) return;
  forget_wrapper(self);
  PyObject*& weakrefs = reinterpret_cast<OneFlowNodeObject*>(self)->weakrefs;
  if (weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  leave_impl(self);
  free_object(self);
}

}  // namespace

Ref make_oneflow_node_type() {
  static PyMethodDef methods[] = {{"name", node_name, METH_NOARGS, nullptr},
                                  {"register_hook", refuse_hook, METH_VARARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef attributes[] = {{"next_functions", get_next_functions, nullptr, nullptr, nullptr},
                                     {"metadata", refuse_attribute, nullptr, nullptr, nullptr},
                                     {"requires_grad", refuse_attribute, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMemberDef members[] = {
      {"__weaklistoffset__", T_PYSSIZET, offsetof(OneFlowNodeObject, weakrefs), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {"oneflow._oneflow_internal.FunctionNode", sizeof(OneFlowNodeObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return checked(PyType_FromSpec(&spec));
}

}  // namespace gradlife
