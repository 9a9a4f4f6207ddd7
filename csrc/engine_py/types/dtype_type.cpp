#include "engine_py/types/dtype_type.hpp"

#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"

namespace gradlife {
namespace {

struct DTypeObject {
  PyObject_HEAD DType dtype;
};

DType dtype_of(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->dtype; }

PyObject* dtype_repr(PyObject* self) { return PyUnicode_FromString(dtype_name(dtype_of(self))); }

PyObject* dtype_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(dtype_name(dtype_of(self)) + 6); }

PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(item_size(dtype_of(self))); }

PyObject* get_is_floating(PyObject* self, void*) { return PyBool_FromLong(is_floating(dtype_of(self))); }

PyObject* get_is_signed(PyObject* self, void*) { return PyBool_FromLong(dtype_of(self) != DType::boolean); }

PyObject* get_is_complex(PyObject* self, void*) { return PyBool_FromLong(is_complex(dtype_of(self))); }

}  // namespace

Ref make_dtype_type() {
  static PyMethodDef methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef attributes[] = {{"itemsize", get_itemsize, nullptr, nullptr, nullptr},
                                     {"is_floating_point", get_is_floating, nullptr, nullptr, nullptr},
                                     {"is_signed", get_is_signed, nullptr, nullptr, nullptr},
                                     {"is_complex", get_is_complex, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {0, nullptr}};
  static PyType_Spec spec = {"gradlife._engine.dtype", sizeof(DTypeObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return checked(PyType_FromSpec(&spec));
}

Ref make_dtype(DType dtype) {
  PyTypeObject* type = state().dtype_type;
  Ref object = checked(type->tp_alloc(type, 0));
  reinterpret_cast<DTypeObject*>(object.get())->dtype = dtype;
  return object;
}

}  // namespace gradlife
