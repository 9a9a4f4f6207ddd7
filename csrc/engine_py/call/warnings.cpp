#include "engine_py/call/warnings.hpp"

#include <algorithm>
#include <atomic>

#include "engine/graph/autograd.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"

namespace gradlife {
namespace {

std::atomic<bool> warns_always{false};
std::atomic<bool> has_warned_of_lost_history{false}, has_warned_of_created_graph{false};
std::atomic<bool> has_warned_of_transpose{false}, has_warned_of_transposed_number{false};

void warn_once(std::atomic<bool>& has_warned, const char* text) {
  if (!has_warned.exchange(true) || warns_always) checked_status(PyErr_WarnEx(PyExc_UserWarning, text, 1));
}

bool is_expanded(const TensorImpl& tensor) {
  for (size_t i = 0; i < tensor.dim(); ++i)
    if (tensor.sizes()[i] > 1 && tensor.strides()[i] == 0) return tensor.numel() > 0;
  return false;
}

PyObject* set_warn_always(PyObject*, PyObject* always) {
  return guarded([&] {
    if (!PyBool_Check(always))
      raise_python(PyExc_RuntimeError, "setWarnOnlyOnce expects a bool, but got %s", Py_TYPE(always)->tp_name);
    warns_always = always == Py_True;
  });
}

PyObject* is_warn_always_enabled(PyObject*, PyObject*) { return PyBool_FromLong(warns_always); }

}  // namespace

void warn(PyObject* category, const char* text) {
  if (state().warn != nullptr) checked(PyObject_CallFunction(state().warn, "Os", category, text));
}

void warn_of_expanded(const TensorImpl& target, const char* operation, const char* again) {
  if (!is_expanded(target) || !has(*current_policy(), traits::warns_of_expanded_change)) return;
  checked_status(PyErr_WarnFormat(PyExc_UserWarning, 1,
                                  "Use of %s on expanded tensors is deprecated. Please clone() the tensor before "
                                  "performing this operation. This also applies to advanced indexing e.g. %s",
                                  operation, again));
}

void warn_of_lost_history(const Tensor& tensor) {
  if (!requires_grad(tensor) || !grad_enabled() || !has(*current_policy(), traits::warns_of_lost_history)) return;
  warn_once(has_warned_of_lost_history,
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
            "tensor.detach() first.");
}

void warn_of_created_graph() {
  warn_once(
      has_warned_of_created_graph,
      "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
      "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
      "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
      "the cycle and avoid the leak.");
}

void warn_of_transpose(size_t dim) {
  if (!has(*current_policy(), traits::warns_of_transpose)) return;
  if (dim == 0)
    return warn_once(has_warned_of_transposed_number,
                     "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.");
  warn_once(has_warned_of_transpose,
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.");
}

PyMethodDef warning_functions[] = {{"set_warn_always", set_warn_always, METH_O, nullptr},
                                   {"is_warn_always_enabled", is_warn_always_enabled, METH_NOARGS, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
