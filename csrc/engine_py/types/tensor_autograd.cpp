// Methods of tensors that belong to autograd rather than to arithmetic.
#include "engine/backward/views.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/ops/ops.hpp"
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
    const Py_ssize_t given = count + (names != nullptr ? PyTuple_GET_SIZE(names) : 0);
    const bool requires = given == 0 || PyObject_IsTrue(arguments[0]) == 1;
    set_requires_grad(unwrap(self), requires);
    return Py_NewRef(self);
  });
}

PyObject* tensor_retain_grad(PyObject* self, PyObject*) {
  return guarded([&] {
    retain_grad(unwrap(self));
    return Py_NewRef(Py_None);
  });
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
    return Py_NewRef(Py_None);
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
PyObject* tensor_make_subclass(PyObject*, PyObject* arguments, PyObject* keywords) {
  return guarded([&] {
    PyObject *type, *data;
    int requires = 0;
    static const char* names[] = {"cls", "data", "require_grad", nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|p", const_cast<char**>(names), &type, &data, &requires))
      throw PythonError();
    require_tensor_class(type);
    if (!is_tensor(data))
      raise_python(PyExc_TypeError, "_make_subclass(): argument 'data' (position 2) must be Tensor, not %.200s",
                   Py_TYPE(data)->tp_name);
    Tensor tensor = detach(unwrap(data));
    if (requires) set_requires_grad(tensor, true);
    return wrap_as(std::move(tensor), reinterpret_cast<PyTypeObject*>(type)).release();
  });
}

PyObject* tensor_as_subclass(PyObject* self, PyObject* type) {
  return guarded([&] {
    require_tensor_class(type);
    return wrap_as(ops::view_as_itself(unwrap(self)), reinterpret_cast<PyTypeObject*>(type)).release();
  });
}

// _bare_class(cls): makes the class of OneFlow's tensors that stands in for `cls`.
PyObject* tensor_bare_class(PyObject*, PyObject* type) {
  return guarded([&] {
    if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), state().tensor_base))
      raise_python(PyExc_TypeError, "cls must be a type of tensors (got %.200s)", Py_TYPE(type)->tp_name);
    return make_bare_class(reinterpret_cast<PyTypeObject*>(type)).release();
  });
}

template <class Function>
PyCFunction as_method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
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
    {"_make_subclass", as_method(tensor_make_subclass), METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {"_make_bare_class", tensor_bare_class, METH_O | METH_STATIC, nullptr},
    {"as_subclass", tensor_as_subclass, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
