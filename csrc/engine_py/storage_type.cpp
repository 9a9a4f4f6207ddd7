#include "engine_py/storage_type.hpp"

#include "engine_py/errors.hpp"
#include "engine_py/objects.hpp"
#include "engine_py/state.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

StorageObject* storage_object(PyObject* self) { return reinterpret_cast<StorageObject*>(self); }

Storage& storage_of(PyObject* self) {
  Managed* impl = head_of(self)->impl;
  require(impl != nullptr, "the storage behind this object is gone");
  return *static_cast<Storage*>(impl);
}

int storage_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (is_kept_by_impl(self)) return 0;
  Py_VISIT(storage_object(self)->dict);
  return 0;
}

int storage_clear(PyObject* self) {
  if (is_kept_by_impl(self)) return 0;
  Py_CLEAR(storage_object(self)->dict);
  return 0;
}

void storage_dealloc(PyObject* self) {
  if (hand_back(self)) return;
  PyObject_GC_UnTrack(self);
  forget_wrapper(self);
  if (storage_object(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(storage_object(self)->dict);
  leave_impl(self);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* storage_nbytes(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromSize_t(storage_of(self).bytes()); });
}

PyObject* storage_data_ptr(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromVoidPtr(storage_of(self).data()); });
}

PyObject* storage_use_count(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLong(storage_of(self).use_count()); });
}

PyObject* storage_cdata(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromVoidPtr(&storage_of(self)); });
}

// The storage read as elements of one dtype; a rest that fills none is left out.
PyObject* storage_window(PyObject* self, PyObject* given) {
  return guarded([&] {
    DType dtype;
    if (!parse_dtype(given, &dtype)) raise_python(PyExc_TypeError, "expected a dtype");
    const StoragePtr storage = StoragePtr::share(&storage_of(self));
    const Dims sizes{static_cast<int64_t>(storage->bytes() / item_size(dtype))};
    return wrap(make<TensorImpl>(storage, dtype, sizes, Dims{1}, 0)).release();
  });
}

Py_ssize_t storage_length(PyObject* self) {
  return guarded(static_cast<Py_ssize_t>(-1), [&] { return static_cast<Py_ssize_t>(storage_of(self).bytes()); });
}

}  // namespace

Ref make_storage_type() {
  static PyMethodDef methods[] = {
      {"nbytes", storage_nbytes, METH_NOARGS, nullptr},        {"size", storage_nbytes, METH_NOARGS, nullptr},
      {"data_ptr", storage_data_ptr, METH_NOARGS, nullptr},    {"_window", storage_window, METH_O, nullptr},
      {"_use_count", storage_use_count, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef attributes[] = {{"_cdata", storage_cdata, nullptr, nullptr, nullptr},
                                     {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMemberDef members[] = {
      {"__dictoffset__", T_PYSSIZET, offsetof(StorageObject, dict), READONLY, nullptr},
      {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weakrefs), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(storage_dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(storage_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(storage_clear)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {Py_tp_members, members},
                                {Py_mp_length, reinterpret_cast<void*>(storage_length)},
                                {0, nullptr}};
  static PyType_Spec spec = {"torch.storage.UntypedStorage", sizeof(StorageObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return checked(PyType_FromSpec(&spec));
}

}  // namespace gradlife
