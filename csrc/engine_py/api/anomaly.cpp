#include "engine_py/api/anomaly.hpp"

#include "engine/graph/anomaly.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/graph/node.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/node_type.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

constexpr const char* traceback_key = "traceback_";
constexpr const char* parent_key = "parent_";

void record_in_metadata(Node& made, Node* running) {
  const Ref module = checked(PyImport_ImportModule("traceback"));
  const Ref stack = checked(PyObject_CallMethod(module.get(), "format_stack", nullptr));
  const Ref metadata = node_metadata(made);
  checked_status(PyDict_SetItemString(metadata.get(), traceback_key, stack.get()));
  if (running == nullptr || !has(made.policy(), traits::has_anomaly_parents)) return;  // 1.1 and 1.2 recorded no parent
  const Ref parent = wrap_node(NodePtr::share(running));
  checked_status(PyDict_SetItemString(metadata.get(), parent_key, parent.get()));
}

void warn(const Ref& text) { checked(PyObject_CallFunction(state().warn, "OO", PyExc_UserWarning, text.get())); }

void warn_about_failed(const char* name, PyObject* stack) {
  if (stack == nullptr)
    return warn(
        checked(PyUnicode_FromFormat("Error detected in %s. No forward pass information available. Enable detect "
                                     "anomaly during forward pass for more information.",
                                     name)));
  warn(checked(
      PyUnicode_FromFormat("Error detected in %s. Traceback of forward call that caused the error:\n%U", name, stack)));
}

void warn_about_parent(const Ref& name, PyObject* stack) {
  if (stack == nullptr)
    return warn(
        checked(PyUnicode_FromFormat("\n\nPrevious calculation was induced by %S. No forward pass information "
                                     "available. Enable detect anomaly during forward pass for more information.",
                                     name.get())));
  warn(
      checked(PyUnicode_FromFormat("\n\nPrevious calculation was induced by %S. Traceback of forward call that induced "
                                   "the previous calculation:\n%U",
                                   name.get(), stack)));
}

// Returns the stack in a metadata dict as one text, or empty.
Ref joined_stack(Borrowed metadata) {
  const Ref lines = dict_item(metadata, traceback_key);
  if (!lines) return {};
  const Ref nothing = checked(PyUnicode_FromString(""));
  return checked(PyUnicode_Join(nothing.get(), lines.get()));
}

// Warns about each node up the chain, made while the next one ran.
void warn_about_chain(const Node& failed) {
  Ref metadata = node_metadata(const_cast<Node&>(failed));
  warn_about_failed(qualified_name(failed).c_str(), joined_stack(metadata.get()).get());
  Ref parent = dict_item(metadata.get(), parent_key);
  while (parent && parent.get() != Py_None) {
    metadata = checked(PyObject_GetAttrString(parent.get(), "metadata"));
    if (!PyDict_Check(metadata.get())) raise_python(PyExc_RuntimeError, "Anomaly metadata is not a python dictionary.");
    const Ref name = checked(PyObject_CallMethod(parent.get(), "name", nullptr));
    warn_about_parent(name, joined_stack(metadata.get()).get());
    parent = dict_item(metadata.get(), parent_key);
  }
}

// The failure itself propagates; an error while it is described must not replace it.
void report_in_warnings(const Node& failed) {
  try {
    warn_about_chain(failed);
  } catch (...) {
    set_python_error();
    PyErr_WriteUnraisable(state().warn);
  }
}

PyObject* set_anomaly_enabled(PyObject*, PyObject* arguments) {
  int enabled, check_nan = 1;
  if (!PyArg_ParseTuple(arguments, "p|p", &enabled, &check_nan)) return nullptr;
  anomaly_mode = {enabled != 0, check_nan != 0};
  return Py_NewRef(Py_None);
}

PyObject* is_anomaly_enabled(PyObject*, PyObject*) { return PyBool_FromLong(anomaly_mode.is_enabled); }

PyObject* is_anomaly_check_nan_enabled(PyObject*, PyObject*) { return PyBool_FromLong(anomaly_mode.checks_nan); }

}  // namespace

void install_anomaly_reporter() { install_anomaly_reporter({record_in_metadata, report_in_warnings}); }

PyMethodDef anomaly_functions[] = {{"set_anomaly_enabled", set_anomaly_enabled, METH_VARARGS, nullptr},
                                   {"is_anomaly_enabled", is_anomaly_enabled, METH_NOARGS, nullptr},
                                   {"is_anomaly_check_nan_enabled", is_anomaly_check_nan_enabled, METH_NOARGS, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
