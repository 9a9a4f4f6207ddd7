// Legacy Functions: an instance is its own context and is called directly. Deprecated in 1.2, refused since 1.5.
#include "engine/graph/autograd.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/user_code.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

void warn_deprecated() {
  checked_status(
      PyErr_WarnEx(PyExc_UserWarning,
                   "Legacy autograd function with non-static forward method is deprecated and will be removed in 1.3. "
                   "Please use new-style autograd function with static forward method. (Example: "
                   "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)",
                   2));
}

void warn_called_twice() {
  checked_status(
      PyErr_WarnEx(PyExc_UserWarning,
                   "Legacy autograd function object was called twice.  You will probably get incorrect gradients from "
                   "this computation, as the saved tensors from the second invocation will clobber the saved tensors "
                   "from the first invocation.  Please consider rewriting your autograd function in the modern style; "
                   "for information on the new format, please see: "
                   "https://pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd",
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

void check_inputs(PyObject* const* arguments, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!is_tensor(arguments[i]))
      raise_python(PyExc_RuntimeError, "expected a Variable argument, but got %s", short_name(arguments[i]));
}

// Checks the arguments of _do_backward: the gradients, and whether the graph is kept.
void check_backward_arguments(PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) raise_python(PyExc_RuntimeError, "_do_backward expects exactly two arguments");
  const char* wrong_tuple = PyTuple_Check(arguments[0]) ? "" : "!";
  const char* wrong_flag = PyBool_Check(arguments[1]) ? "" : "!";
  if (*wrong_tuple == '!' || *wrong_flag == '!')
    raise_python(
        PyExc_TypeError,
        "_do_backward received an invalid combination of arguments - got (%s%s%s, %s%s%s), but expected (tuple, "
        "bool)",
        wrong_tuple, short_name(arguments[0]), wrong_tuple, wrong_flag, short_name(arguments[1]), wrong_flag);
}

// Returns a tuple with zeros in place of None, in the shapes of `infos`. Extra items that are None are left out.
Ref with_zeros(Borrowed gradients, const std::vector<TensorInfo>& infos) {
  return make_tuple(infos.size(), [&](size_t i) {
    PyObject* gradient = PyTuple_GET_ITEM(gradients.get(), static_cast<Py_ssize_t>(i));
    return gradient == Py_None ? wrap(zeros_like(infos[i])) : Ref::borrow(gradient);
  });
}

Py_ssize_t count_without_extra_none(Borrowed gradients, Py_ssize_t expected) {
  Py_ssize_t count = PyTuple_GET_SIZE(gradients.get());
  while (count > expected && PyTuple_GET_ITEM(gradients.get(), count - 1) == Py_None) --count;
  return count;
}

}  // namespace

PyObject* function_do_forward(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    FunctionObject* object = function_object(self);
    check_may_run(object);
    const bool warns = has(*object->policy, traits::warns_of_legacy_functions);
    if (warns) warn_deprecated();
    check_inputs(arguments, count);
    UnpackedInputs inputs = unpack_inputs(arguments, count);
    Py_XSETREF(object->needs_input_grad, Ref(inputs.needs_input_grad).release());
    const NodePtr earlier = object->was_applied ? node_of_context(self) : NodePtr();
    if (warns && earlier) warn_called_twice();
    const NodePtr node = attach_node(self);
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
    check_backward_arguments(arguments, count);
    const NodePtr node = node_of_context(self);
    if (!node)
      raise_python(
          PyExc_RuntimeError,
          "Legacy autograd function attempted to call backward before forward was called.  This could occur if you "
          "manually called _do_backward on Function.  In any case, this is very naughty!  If you absolutely need this "
          "to work, try porting your code to use non-legacy autograd function, see: "
          "https://pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd");
    // Copies: backward may apply the instance again.
    const std::vector<TensorInfo> inputs = static_cast<PyNode&>(*node).input_info;
    const std::vector<TensorInfo> outputs = static_cast<PyNode&>(*node).output_info;
    if (PyTuple_GET_SIZE(arguments[0]) != static_cast<Py_ssize_t>(outputs.size()))
      raise_python(PyExc_RuntimeError, "%s got an invalid number of gradients (expected %zu got %zd)", short_name(self),
                   outputs.size(), PyTuple_GET_SIZE(arguments[0]));
    const Ref passed = with_zeros(arguments[0], outputs);
    const Ref backward = Ref::steal(PyObject_GetAttrString(self, "backward"));
    if (!backward) {
      drop_error();
      raise_python(PyExc_RuntimeError, "function %s doesn't implement a required 'backward' method", short_name(self));
    }
    Ref result = checked(in_user_code([&] { return PyObject_CallObject(backward.get(), passed.get()); }));
    if (!PyTuple_Check(result.get())) result = checked(PyTuple_Pack(1, result.get()));
    const Py_ssize_t expected = static_cast<Py_ssize_t>(inputs.size());
    const Py_ssize_t returned = count_without_extra_none(result.get(), expected);
    if (returned != expected)
      raise_python(PyExc_RuntimeError, "%s returned an invalid number of gradient tensors (expected %zd, but got %zd)",
                   short_name(self), expected, returned);
    return with_zeros(result.get(), inputs).release();
  });
}

}  // namespace gradlife
