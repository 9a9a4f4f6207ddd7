#include "engine_py/types/storage_type.hpp"

#include <cstring>

#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

StorageObject* storage_object(PyObject* self) { return reinterpret_cast<StorageObject*>(self); }

Storage& storage_of(PyObject* self) {
  Managed* impl = head_of(self)->impl;
  require(impl != nullptr, "the storage behind this object is gone");
  return *static_cast<Storage*>(impl);
}

}  // namespace

bool is_storage(PyObject* object) { return PyObject_TypeCheck(object, state().storage_base) != 0; }

StoragePtr unwrap_storage(PyObject* object) { return StoragePtr::share(&storage_of(object)); }

int visit_storage_references(PyObject* self, visitproc visit, void* arg) {
  if (const int stop = visit_slots(self, state().storage_base, visit, arg)) return stop;
  Py_VISIT(storage_object(self)->dict);
  return 0;
}

namespace {

int storage_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return is_kept_by_impl(self) ? 0 : visit_storage_references(self, visit, arg);
}

int storage_clear(PyObject* self) {
  if (is_kept_by_impl(self)) return 0;
  Py_CLEAR(storage_object(self)->dict);
  return 0;
}

void free_storage(PyObject* self) {
  if (storage_object(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  clear_slots(self, state().storage_base);
  Py_CLEAR(storage_object(self)->dict);
  leave_impl(self);
  free_object(self);
}

// For subclasses, too: type.__new__ would give them a dealloc that finalises before the wrapper can be resurrected.
void storage_dealloc(PyObject* self) {
  if (resurrect_wrapper(self)) return;
  PyObject_GC_UnTrack(self);
  forget_wrapper(self);
  Py_TRASHCAN_BEGIN(self, storage_dealloc) if (is_kept_by_finalizer(self)) { remember_wrapper(self); }
  else {
    free_storage(self);
  }
  Py_TRASHCAN_END
}

int storage_meta_init(PyObject* self, PyObject* arguments, PyObject* keywords) {
  if (PyType_Type.tp_init(self, arguments, keywords) < 0) return -1;
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(self);
  type->tp_dealloc = storage_dealloc;
  type->tp_traverse = storage_traverse;
  return 0;
}

StoragePtr storage_of_bytes(PyObject* sequence) {
  if (!PySequence_Check(sequence) || is_tensor(sequence))
    raise_python(PyExc_RuntimeError, "torch.UntypedStorage(): Expected a sequence type, but got %s",
                 Py_TYPE(sequence)->tp_name);
  const Ref bytes = checked(PyByteArray_FromObject(sequence));
  const size_t size = static_cast<size_t>(PyByteArray_GET_SIZE(bytes.get()));
  StoragePtr storage = make<Storage>(size);
  if (size > 0) std::memcpy(storage->data(), PyByteArray_AS_STRING(bytes.get()), size);
  return storage;
}

StoragePtr storage_of_size(PyObject* number) {
  const Py_ssize_t size = PyNumber_AsSsize_t(number, PyExc_OverflowError);
  if (size == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  if (size < 0) raise_python(PyExc_RuntimeError, "Trying to create a storage with a negative size: %zd", size);
  return make<Storage>(static_cast<size_t>(size));
}

PyObject* storage_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&] {
    if (type == state().storage_base)
      raise_python(PyExc_RuntimeError, "Cannot directly construct StorageBase; subclass it and then construct that");
    if (PyTuple_GET_SIZE(arguments) > 1 || (keywords != nullptr && PyDict_GET_SIZE(keywords) > 0))
      raise_python(PyExc_TypeError, "torch.UntypedStorage() received an invalid combination of arguments");
    PyObject* given = PyTuple_GET_SIZE(arguments) == 1 ? PyTuple_GET_ITEM(arguments, 0) : nullptr;
    StoragePtr storage = given == nullptr           ? make<Storage>(0)
                         : PyLong_Check(given) != 0 ? storage_of_size(given)
                                                    : storage_of_bytes(given);
    return new_wrapper(storage.detach(), type).release();
  });
}

PyObject* storage_item(PyObject* self, Py_ssize_t index) {
  return guarded([&] {
    const Storage& storage = storage_of(self);
    const Py_ssize_t size = static_cast<Py_ssize_t>(storage.bytes());
    if (index < 0 || index >= size)
      raise_python(PyExc_IndexError, "index %zd out of range for storage of size %zd", index, size);
    return PyLong_FromLong(static_cast<const uint8_t*>(storage.data())[index]);
  });
}

PyObject* storage_fix_weakref(PyObject*, PyObject*) { return Py_NewRef(Py_None); }

PyObject* storage_nbytes(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromSize_t(storage_of(self).bytes()); });
}

PyObject* storage_data_ptr(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromVoidPtr(storage_of(self).data()); });
}

PyObject* storage_resizable(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(storage_of(self).may_grow()); });
}

PyObject* storage_resize(PyObject* self, PyObject* number) {
  return guarded([&] {
    if (!PyLong_Check(number))
      raise_python(PyExc_RuntimeError, "resize_ expects an int, but got %s", Py_TYPE(number)->tp_name);
    const int64_t size = parse_integer(number);
    if (size < 0) raise_python(PyExc_RuntimeError, "a storage cannot have a negative size: %lld", size);
    storage_of(self).resize(static_cast<size_t>(size));
    return Py_NewRef(self);
  });
}

PyObject* storage_use_count(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLong(storage_of(self).use_count()); });
}

PyObject* storage_cdata(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromVoidPtr(&storage_of(self)); });
}

// Returns the storage as elements of one dtype; remaining bytes are left out.
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

Ref make_storage_meta() {
  static PyType_Slot slots[] = {
      {Py_tp_base, &PyType_Type}, {Py_tp_init, reinterpret_cast<void*>(storage_meta_init)}, {0, nullptr}};
  static PyType_Spec spec = {"gradlife._engine._StorageMeta", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return checked(PyType_FromSpec(&spec));
}

Ref make_storage_type(PyTypeObject* base) {
  const Ref names = checked(Py_BuildValue("{ss}", "__module__", "torch.storage"));
  return checked(
      PyObject_CallFunction(reinterpret_cast<PyObject*>(Py_TYPE(base)), "s(O)O", "UntypedStorage", base, names.get()));
}

Ref make_storage_base(const Ref& meta) {
  static PyMethodDef methods[] = {{"nbytes", storage_nbytes, METH_NOARGS, nullptr},
                                  {"size", storage_nbytes, METH_NOARGS, nullptr},
                                  {"data_ptr", storage_data_ptr, METH_NOARGS, nullptr},
                                  {"resizable", storage_resizable, METH_NOARGS, nullptr},
                                  {"resize_", storage_resize, METH_O, nullptr},
                                  {"_window", storage_window, METH_O, nullptr},
                                  {"_use_count", storage_use_count, METH_NOARGS, nullptr},
                                  {"_fix_weakref", storage_fix_weakref, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef attributes[] = {{"_cdata", storage_cdata, nullptr, nullptr, nullptr},
                                     {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMemberDef members[] = {
      {"__dictoffset__", T_PYSSIZET, offsetof(StorageObject, dict), READONLY, nullptr},
      {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weakrefs), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(storage_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(storage_dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(storage_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(storage_clear)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {Py_tp_members, members},
                                {Py_sq_length, reinterpret_cast<void*>(storage_length)},
                                {Py_sq_item, reinterpret_cast<void*>(storage_item)},
                                {0, nullptr}};
  static PyType_Spec spec = {"torch._C.StorageBase", sizeof(StorageObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  Ref type = checked(PyType_FromSpec(&spec));
  // Its subclasses inherit the metaclass. CPython creates types with a custom metaclass only since 3.12.
  Py_SET_TYPE(type.get(), reinterpret_cast<PyTypeObject*>(Ref(meta).release()));
  return type;
}

}  // namespace gradlife
