// Information about the running backward call, from within one of its nodes.
#include <memory>

#include "engine/backward/graph_task.hpp"
#include "engine_py/api/api.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/interpreter/user_code.hpp"
#include "engine_py/types/node_type.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

const GraphTask& need_task(const char* function) {
  if (current_task() == nullptr)
    raise_python(PyExc_RuntimeError, "%s should only be called during the backward pass", function);
  return *current_task();
}

PyObject* current_node_function(PyObject*, PyObject*) {
  return guarded([&] {
    Node* node = current_node();
    return (node != nullptr ? wrap_node(NodePtr::share(node)) : Ref::borrow(Py_None)).release();
  });
}

PyObject* current_task_function(PyObject*, PyObject*) {
  return PyLong_FromLongLong(current_task() != nullptr ? current_task()->id() : -1);
}

PyObject* keep_graph_function(PyObject*, PyObject*) {
  return PyBool_FromLong(current_task() == nullptr || current_task()->options().keep_graph);
}

PyObject* will_execute_function(PyObject*, PyObject* object) {
  return guarded([&] {
    if (!is_node_wrapper(object) && PyObject_TypeCheck(object, state().function_base) == 0)
      raise_python(PyExc_RuntimeError, "_will_engine_execute_node expects an grad_fn, but got %s",
                   Py_TYPE(object)->tp_name);
    const GraphTask& task = need_task("_get_should_execute_nodes");
    if (!is_node_wrapper(object) && !node_of_context(object)) return Py_NewRef(Py_False);
    return PyBool_FromLong(task.will_execute(*unwrap_node(object)));
  });
}

PyObject* execution_order_function(PyObject*, PyObject*) {
  return guarded([&] {
    const std::vector<NodePtr> order = need_task("_current_graph_task_execution_order").execution_order();
    Ref list = checked(PyList_New(static_cast<Py_ssize_t>(order.size())));
    for (size_t i = 0; i < order.size(); ++i)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap_node(order[i]).release());
    return list.release();
  });
}

PyObject* queue_callback_function(PyObject*, PyObject* callback) {
  return guarded([&] {
    require(current_task() != nullptr, "Final callbacks can only be installed during backward pass.");
    const auto kept = std::make_shared<Handle>(Handle::borrow(callback));
    current_task()->add_callback(
        [kept] { checked(in_user_code([&] { return PyObject_CallNoArgs(static_cast<PyObject*>(kept->get())); })); });
    return Py_NewRef(Py_None);
  });
}

}  // namespace

PyMethodDef graph_task_functions[] = {
    {"_current_autograd_node", current_node_function, METH_NOARGS, nullptr},
    {"_current_graph_task_id", current_task_function, METH_NOARGS, nullptr},
    {"_current_graph_task_execution_order", execution_order_function, METH_NOARGS, nullptr},
    {"_get_current_graph_task_keep_graph", keep_graph_function, METH_NOARGS, nullptr},
    {"_will_engine_execute_node", will_execute_function, METH_O, nullptr},
    {"_queue_callback", queue_callback_function, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
