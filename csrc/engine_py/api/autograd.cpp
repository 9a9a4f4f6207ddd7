// Backward, grad mode and default hooks for Python.
#include <memory>

#include "engine/backward/backward.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/policy/release_texts.hpp"
#include "engine_py/api/api.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/hooks/saved_hooks.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/node_type.hpp"
#include "engine_py/types/saved_tensor.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

// Returns the edge of a tensor, or of a (node, output number) pair.
Edge unwrap_edge(PyObject* item) {
  if (is_tensor(item)) return gradient_edge(unwrap(item));
  if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) < 2)
    raise_python(PyExc_TypeError, "expected a Tensor or a GradientEdge, but got %.200s", Py_TYPE(item)->tp_name);
  const unsigned long number = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(item, 1));
  if (PyErr_Occurred() != nullptr) throw PythonError();
  NodePtr node = unwrap_node(PyTuple_GET_ITEM(item, 0));
  const size_t count = std::max<size_t>(node->num_inputs(), 1);
  if (number >= count)  // PyTorch reads beyond a buffer
    raise_python(PyExc_IndexError, "there is no output %lu of %s, which has %zu", number, node->name(), count);
  return {std::move(node), static_cast<uint32_t>(number)};
}

EdgeList root_edges(PyObject* roots) {
  EdgeList edges;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(roots); ++i) {
    edges.push_back(unwrap_edge(PyTuple_GET_ITEM(roots, i)));
    if (!edges.back())
      raise_python(PyExc_RuntimeError, "element %zd of tensors does not require grad and does not have a grad_fn", i);
  }
  return edges;
}

EdgeList input_edges(PyObject* inputs, bool accumulate) {
  EdgeList edges;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
    PyObject* item = PyTuple_GET_ITEM(inputs, i);
    if (is_tensor(item)) {
      const Tensor& tensor = unwrap(item);
      if (accumulate && (!is_leaf(*tensor) || !requires_grad(tensor))) retain_grad(tensor);
      if (!requires_grad(tensor))
        raise_python(PyExc_RuntimeError, "One of the differentiated Tensors does not require grad");
    } else if (!PyTuple_Check(item) || PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) < 2) {
      raise_python(PyExc_RuntimeError, "all inputs have to be Tensors or GradientEdges, but got %.200s",
                   Py_TYPE(item)->tp_name);
    }
    edges.push_back(unwrap_edge(item));
  }
  return edges;
}

Ref wrap_captured(TensorList captured, bool allow_unused) {
  const bool is_numbered = has(*current_policy(), traits::numbers_unused_input);
  return make_tuple(captured.size(), [&](size_t i) {
    require(captured[i] || allow_unused,
            is_numbered ? concat("The differentiated Tensor at index ", i) : "One of the differentiated Tensors",
            " appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.");
    return wrap(std::move(captured[i]));
  });
}

// PyTorch shows its warning when the backward has ended or failed.
TensorList run_and_warn(const EdgeList& roots, TensorList gradients, const BackwardOptions& options,
                        const EdgeList& wanted) {
  TensorList captured;
  try {
    captured = run_backward(roots, std::move(gradients), options, wanted);
  } catch (...) {
    if (options.accumulate && options.create_graph) warn_of_created_graph();
    throw;
  }
  if (options.accumulate && options.create_graph) warn_of_created_graph();
  return captured;
}

// _run_backward(roots, gradients, keep_graph, create_graph, inputs, allow_unused, accumulate)
PyObject* run_backward_function(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *roots, *gradients, *inputs;
    int keep_graph, create_graph, allow_unused, accumulate;
    if (!PyArg_ParseTuple(arguments, "O!O!ppO!pp", &PyTuple_Type, &roots, &PyTuple_Type, &gradients, &keep_graph,
                          &create_graph, &PyTuple_Type, &inputs, &allow_unused, &accumulate))
      throw PythonError();
    BackwardOptions options;
    options.keep_graph = keep_graph != 0;
    options.create_graph = create_graph != 0;
    options.accumulate = accumulate != 0;
    const EdgeList edges = root_edges(roots);
    const EdgeList wanted = input_edges(inputs, options.accumulate);
    TensorList captured = run_and_warn(edges, unwrap_list(gradients), options, wanted);
    return wrap_captured(std::move(captured), allow_unused != 0).release();
  });
}

PyObject* gradient_edge_function(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    const Tensor& of = unwrap(tensor);
    // PyTorch asks a view of the leaf: such a view has no history in inference mode, and never for inference data.
    if (is_leaf(*of) && requires_grad(of) && (inference_mode() || of->is_inference()))
      raise_python(PyExc_AttributeError, "'NoneType' object has no attribute 'next_functions'");
    const Edge edge = gradient_edge(of);
    // A view made in inference mode requires grad if its base does, but has no node for it.
    if (!edge) raise_python(PyExc_AssertionError, "Expected gradient function to be set");
    const Ref node = wrap_node(edge.node);
    return Py_BuildValue("OI", node.get(), edge.input_nr);
  });
}

PyObject* is_grad_enabled_function(PyObject*, PyObject*) { return PyBool_FromLong(grad_enabled()); }

PyObject* set_grad_enabled_function(PyObject*, PyObject* enabled) {
  return guarded([&] {
    if (!PyBool_Check(enabled))
      raise_python(PyExc_TypeError, "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not %s",
                   Py_TYPE(enabled)->tp_name);
    set_grad_enabled(enabled == Py_True);
  });
}

PyObject* push_hooks_function(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *pack, *unpack;
    if (!PyArg_ParseTuple(arguments, "OO", &pack, &unpack)) throw PythonError();
    const Policy& policy = *current_policy();
    const char* callable = text_for(policy, texts::callable);
    if (PyCallable_Check(pack) == 0 || PyCallable_Check(unpack) == 0)
      raise_python(PyExc_TypeError,
                   "_%s_saved_tensors_default_hooks(): incompatible function arguments. The following argument types "
                   "are supported:\n    1. (arg0: %s, arg1: %s) -> None",
                   text_for(policy, texts::push_hooks), callable, callable);
    push_default_hooks(pack, unpack);
  });
}

PyObject* pop_hooks_function(PyObject*, PyObject*) {
  return guarded([&] { pop_default_hooks(); });
}

PyObject* top_hooks_function(PyObject*, PyObject* ignores_tracing) {
  return guarded([&] { return top_default_hooks(is_true(ignores_tracing)).release(); });
}

PyObject* saved_tensor_type_function(PyObject*, PyObject*) {
  return Py_NewRef(reinterpret_cast<PyObject*>(saved_tensor_type(*current_policy())));
}

PyObject* set_hooks_tracing_function(PyObject*, PyObject* is_tracing) {
  return guarded([&] { return PyBool_FromLong(set_hooks_tracing(is_true(is_tracing))); });
}

PyObject* disable_hooks_function(PyObject*, PyObject* message) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(message);
    if (text == nullptr) throw PythonError();
    disable_default_hooks(text);
  });
}

PyObject* enable_hooks_function(PyObject*, PyObject*) {
  return guarded([&] { enable_default_hooks(); });
}

PyObject* disabled_message_function(PyObject*, PyObject*) {
  return guarded([&] { return disabled_message().release(); });
}

PyObject* increment_version_function(PyObject*, PyObject* tensors) {
  return guarded([&] {
    const Ref iterator = Ref::steal(PyObject_GetIter(tensors));
    if (!iterator) {
      drop_error();
      raise_python(PyExc_RuntimeError, "increment_version expect a Iterable[Tensor] as input");
    }
    while (const Ref tensor = Ref::steal(PyIter_Next(iterator.get()))) {
      if (!is_tensor(tensor.get()))
        raise_python(PyExc_RuntimeError, "increment_version expects each element of the iterable to be a tensor");
      if (unwrap(tensor.get())->has_version()) unwrap(tensor.get())->bump_version();
    }
    if (PyErr_Occurred() != nullptr) throw PythonError();
  });
}

}  // namespace

PyMethodDef autograd_functions[] = {
    {"_run_backward", run_backward_function, METH_VARARGS, nullptr},
    {"_gradient_edge", gradient_edge_function, METH_O, nullptr},
    {"is_grad_enabled", is_grad_enabled_function, METH_NOARGS, nullptr},
    {"_set_grad_enabled", set_grad_enabled_function, METH_O, nullptr},
    {"_push_saved_tensors_default_hooks", push_hooks_function, METH_VARARGS, nullptr},
    {"_pop_saved_tensors_default_hooks", pop_hooks_function, METH_NOARGS, nullptr},
    {"_top_saved_tensors_default_hooks", top_hooks_function, METH_O, nullptr},
    {"_saved_tensor_type", saved_tensor_type_function, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_set_tracing", set_hooks_tracing_function, METH_O, nullptr},
    {"_saved_tensors_hooks_disable", disable_hooks_function, METH_O, nullptr},
    {"_saved_tensors_hooks_enable", enable_hooks_function, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_get_disabled_error_message", disabled_message_function, METH_NOARGS, nullptr},
    {"_increment_version", increment_version_function, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
