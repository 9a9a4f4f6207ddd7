// Methods and attributes that the wrappers of C++ nodes and the contexts of custom Functions share.
#pragma once

#include "engine_py/hooks/hooks.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/types/node_type.hpp"

namespace gradlife {

// `node_for`: returns the node of a Python object, or raises for the attribute that was asked for.
template <NodePtr (*node_for)(PyObject* self, const char* attribute)>
struct NodeMethods {
  static PyObject* register_hook(PyObject* self, PyObject* hook) {
    return guarded([&] { return register_post_hook(*node_for(self, "register_hook"), hook).release(); });
  }
  static PyObject* register_prehook(PyObject* self, PyObject* hook) {
    return guarded([&] { return register_pre_hook(*node_for(self, "register_prehook"), hook).release(); });
  }
  static PyObject* register_hook_dict(PyObject* self, PyObject* tensor) {
    return guarded([&] { gradlife::register_hook_dict(*node_for(self, "_register_hook_dict"), tensor); });
  }
  static PyObject* sequence_nr(PyObject* self, PyObject*) {
    return guarded([&] { return PyLong_FromUnsignedLongLong(node_for(self, "_sequence_nr")->sequence_nr()); });
  }
  static PyObject* set_sequence_nr(PyObject* self, PyObject* number) {
    return guarded([&] {
      const unsigned long long value = PyLong_AsUnsignedLongLong(number);
      if (PyErr_Occurred() != nullptr) throw PythonError();
      node_for(self, "_set_sequence_nr")->set_sequence_nr(value);
    });
  }
  static PyObject* next_functions(PyObject* self, void*) {
    return guarded([&] { return node_next_functions(*node_for(self, "next_functions")).release(); });
  }
  static PyObject* input_metadata(PyObject* self, void*) {
    return guarded([&] { return node_input_metadata(*node_for(self, "_input_metadata")).release(); });
  }
  static PyObject* requires_grad(PyObject*, void*) { return Py_NewRef(Py_True); }
};

}  // namespace gradlife
