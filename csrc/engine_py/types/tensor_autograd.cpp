// Methods of tensors that belong to autograd rather than to arithmetic.
#include "engine/backward/views.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/ops/ops.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/hooks/hooks.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/tensor_type.hpp"
#include "engine_py/wrappers/attributeless_tensor.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

PyObject* tensor_detach(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(detach(unwrap(self))).release(); });
}

PyObject* tensor_detach_in_place(PyObject* self, PyObject*) {
  return guarded([&] {
    detach_in_place(unwrap(self));
    return Py_NewRef(self);
  });
}

PyObject* tensor_requires_grad_in_place(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("requires_grad_", {"requires_grad"}, 0, arguments, count, names);
    set_requires_grad(unwrap(self), args.flag(0, true));
    return Py_NewRef(self);
  });
}

PyObject* tensor_retain_grad(PyObject* self, PyObject*) {
  return guarded([&] { retain_grad(unwrap(self)); });
}

PyObject* tensor_use_count(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLong(unwrap(self)->use_count()); });
}

PyObject* tensor_is_view(PyObject* self, PyObject*) {
  return guarded([&] {
    const AutogradMeta* meta = unwrap(self)->meta();
    return PyBool_FromLong(meta != nullptr && meta->view != nullptr);
  });
}

PyObject* tensor_is_inference(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(unwrap(self)->is_inference()); });
}

// It repaired a tensor whose C++ half had outlived its Python half; since 2.10 there is nothing to do.
PyObject* tensor_fix_weakref(PyObject*, PyObject*) { return Py_NewRef(Py_None); }

PyObject* tensor_untyped_storage(PyObject* self, PyObject*) {
  return guarded([&] { return wrap_storage(unwrap(self)->storage()).release(); });
}

PyObject* tensor_register_hook_dict(PyObject* self, PyObject*) {
  return guarded([&] {
    if (const NodePtr node = grad_fn(unwrap(self))) register_hook_dict(*node, self);
  });
}

void require_tensor_class(PyObject* type) {
  if (!PyType_Check(type)) raise_python(PyExc_TypeError, "cls must be a type (got %.200s)", Py_TYPE(type)->tp_name);
  if (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), state().tensor_base))
    raise_python(PyExc_TypeError,
                 "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure "
                 "your class inherits from Tensor.");
}

// cls._make_subclass(data, require_grad=False): a new impl with the data, of another class.
PyObject* tensor_make_subclass(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("_make_subclass", {"cls", "data", "require_grad"}, 2, arguments, count, names);
    const Tensor& data = args.tensor(1);
    const bool is_required = args.flag(2, false);
    require_tensor_class(args[0]);
    require(!is_required || is_differentiable(data->dtype()),
            "Only Tensors of floating point and complex dtype can require gradients");
    Tensor tensor = detach(data);
    if (is_required) set_requires_grad(tensor, true);
    return wrap_as(std::move(tensor), reinterpret_cast<PyTypeObject*>(args[0])).release();
  });
}

PyObject* tensor_as_subclass(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("as_subclass", {"cls"}, 1, arguments, count, names);
    require_tensor_class(args[0]);
    return wrap_as(ops::view_as_itself(unwrap(self)), reinterpret_cast<PyTypeObject*>(args[0])).release();
  });
}

// The methods behind `+tensor` and `1 / tensor`, which classes are asked about.
PyObject* tensor_positive(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* tensor_reversed_division(PyObject* self, PyObject* other) { return PyNumber_TrueDivide(other, self); }

// _bare_class(cls): makes the class of OneFlow's tensors that stands in for `cls`.
PyObject* tensor_bare_class(PyObject*, PyObject* type) {
  return guarded([&] {
    if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), state().tensor_base))
      raise_python(PyExc_TypeError, "cls must be a type of tensors (got %.200s)", Py_TYPE(type)->tp_name);
    return make_bare_class(reinterpret_cast<PyTypeObject*>(type)).release();
  });
}

}  // namespace

PyMethodDef autograd_methods[] = {
    {"detach", tensor_detach, METH_NOARGS, nullptr},
    {"detach_", tensor_detach_in_place, METH_NOARGS, nullptr},
    {"requires_grad_", as_method(tensor_requires_grad_in_place), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"retain_grad", tensor_retain_grad, METH_NOARGS, nullptr},
    {"_use_count", tensor_use_count, METH_NOARGS, nullptr},
    {"is_inference", tensor_is_inference, METH_NOARGS, nullptr},
    {"_fix_weakref", tensor_fix_weakref, METH_NOARGS, nullptr},
    {"_is_view", tensor_is_view, METH_NOARGS, nullptr},
    {"untyped_storage", tensor_untyped_storage, METH_NOARGS, nullptr},
    {"_register_hook_dict", tensor_register_hook_dict, METH_NOARGS, nullptr},
    {"_make_subclass", as_method(tensor_make_subclass), METH_FASTCALL | METH_KEYWORDS | METH_STATIC, nullptr},
    {"_make_bare_class", tensor_bare_class, METH_O | METH_STATIC, nullptr},
    {"as_subclass", as_method(tensor_as_subclass), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"positive", tensor_positive, METH_NOARGS, nullptr},
    {"__rdiv__", tensor_reversed_division, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
