// Legacy Functions: an instance is its own context and is called directly. Deprecated in 1.2, refused since 1.5.
#include "engine/graph/autograd.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/user_code.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

void warn_deprecated(const Policy& policy) {
  if (!has(policy, traits::warns_of_legacy_functions)) return;
  checked_status(
      PyErr_WarnEx(PyExc_UserWarning,
                   "Legacy autograd function with non-static forward method is deprecated and will be removed in 1.3. "
                   "Please use new-style autograd function with static forward method. (Example: "
                   "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)",
                   2));
}

void check_may_run(const FunctionObject* object) {
  switch (object->policy->legacy_functions) {
    case LegacyFunctions::refused:
      raise_python(PyExc_RuntimeError,
                   "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
                   "autograd function with static forward method. (Example: "
                   "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)");
    case LegacyFunctions::consumed:
      if (object->was_applied)
        raise_python(PyExc_RuntimeError, "this legacy Function was applied already and is consumed");
      break;
    case LegacyFunctions::instance_is_ctx:
      break;
  }
}

}  // namespace

PyObject* function_do_forward(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    check_may_run(function_object(self));
    warn_deprecated(*function_object(self)->policy);
    const NodePtr node = attach_node(self);
    UnpackedInputs inputs = unpack_inputs(arguments, count);
    Py_XSETREF(function_object(self)->needs_input_grad, Ref(inputs.needs_input_grad).release());
    Ref outputs;
    {
      GradMode no_grad(false);
      const Ref forward = checked(PyObject_GetAttrString(self, "forward"));
      outputs = checked(call_user_code(forward.get(), arguments, static_cast<size_t>(count)));
    }
    return wrap_outputs(self, node, std::move(inputs), std::move(outputs)).release();
  });
}

PyObject* function_do_backward(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    if (!node_of_context(self))
      raise_python(
          PyExc_RuntimeError,
          "Legacy autograd function attempted to call backward before forward was called.  This could occur if you "
          "manually called _do_backward on Function.  In any case, this is very naughty!  If you absolutely need this "
          "to work, try porting your code to use non-legacy autograd function, see: "
          "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function");
    const Ref backward = Ref::steal(PyObject_GetAttrString(self, "backward"));
    if (!backward) {
      drop_error();
      raise_python(PyExc_RuntimeError, "function %s doesn't implement a required 'backward' method",
                   Py_TYPE(self)->tp_name);
    }
    // Python code calls it with a tuple of gradients and a flag; the engine passes the gradients themselves.
    if (count == 2 && PyTuple_Check(arguments[0])) {
      Ref result = checked(in_user_code([&] { return PyObject_CallObject(backward.get(), arguments[0]); }));
      return PyTuple_Check(result.get()) ? result.release() : PyTuple_Pack(1, result.get());
    }
    return checked(call_user_code(backward.get(), arguments, static_cast<size_t>(count))).release();
  });
}

}  // namespace gradlife
