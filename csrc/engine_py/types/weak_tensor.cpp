#include "engine_py/types/weak_tensor.hpp"

#include <new>

#include "engine/tensor/tensor.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

struct WeakTensorObject {
  PyObject_HEAD WeakPtr<TensorImpl> tensor;
};

PyObject* weak_tensor_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&] {
    PyObject* tensor;
    static const char* names[] = {"tensor", nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O", const_cast<char**>(names), &tensor)) throw PythonError();
    TensorImpl* impl = unwrap(tensor).get();
    Ref self = checked(type->tp_alloc(type, 0));
    new (&reinterpret_cast<WeakTensorObject*>(self.get())->tensor) WeakPtr<TensorImpl>(impl);
    return self.release();
  });
}

void weak_tensor_dealloc(PyObject* self) {
  reinterpret_cast<WeakTensorObject*>(self)->tensor.~WeakPtr();
  free_object(self);
}

PyObject* is_expired(PyObject* self, PyObject*) {
  return PyBool_FromLong(reinterpret_cast<WeakTensorObject*>(self)->tensor.is_expired());
}

}  // namespace

Ref make_weak_tensor_type() {
  static PyMethodDef methods[] = {{"expired", is_expired, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(weak_tensor_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(weak_tensor_dealloc)},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"torch._C._WeakTensorRef", sizeof(WeakTensorObject), 0, Py_TPFLAGS_DEFAULT, slots};
  return checked(PyType_FromSpec(&spec));
}

}  // namespace gradlife
