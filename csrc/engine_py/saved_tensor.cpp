#include "engine_py/saved_tensor.hpp"

#include <map>
#include <new>
#include <utility>

#include "engine_py/errors.hpp"
#include "engine_py/saved_hooks.hpp"
#include "engine_py/state.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

using SlotKey = std::pair<const Node*, size_t>;

struct SavedTensorObject {
  PyObject_HEAD WeakNodePtr node;
  SlotKey key;
};

// Handles that are held now, so that a slot has one handle at a time. Borrowed: a dying handle takes itself out.
std::map<SlotKey, PyObject*>& live_handles() {
  static auto* handles = new std::map<SlotKey, PyObject*>;
  return *handles;
}

SavedTensorObject* object_of(PyObject* self) { return reinterpret_cast<SavedTensorObject*>(self); }

template <class Use>
PyObject* with_slot(PyObject* self, Use&& use) {
  return guarded([&]() -> PyObject* {
    const NodePtr node = object_of(self)->node.lock();
    if (!node)
      raise_python(
          PyExc_RuntimeError,
          "the node of this saved tensor is gone (PyTorch would read another graph's memory here; hold the node as "
          "long as the handle is used)");
    return use(node, node->slot(object_of(self)->key.second));
  });
}

PyObject* get_data(PyObject* self, void*) {
  return with_slot(self, [](const NodePtr&, SavedSlot& slot) {
    if (slot.hooks() == nullptr) return wrap(slot.raw()).release();
    PyObject* packed = static_cast<PyObject*>(slot.hooks()->packed());
    return Py_NewRef(packed != nullptr ? packed : Py_None);
  });
}

PyObject* get_unpack_hook(PyObject* self, void*) {
  return with_slot(self, [](const NodePtr&, SavedSlot& slot) {
    return Py_NewRef(slot.hooks() != nullptr ? static_cast<PyObject*>(slot.hooks()->unpack_callable()) : Py_None);
  });
}

PyObject* saved_unpack(PyObject* self, PyObject*) {
  return with_slot(self, [](const NodePtr& node, SavedSlot& slot) { return wrap(slot.unpack(node)).release(); });
}

PyObject* saved_register_hooks(PyObject* self, PyObject* arguments) {
  return with_slot(self, [&](const NodePtr&, SavedSlot& slot) {
    PyObject *pack, *unpack;
    if (!PyArg_ParseTuple(arguments, "OO", &pack, &unpack)) throw PythonError();
    if (PyCallable_Check(pack) == 0 || PyCallable_Check(unpack) == 0)
      raise_python(
          PyExc_TypeError,
          "register_hooks(): incompatible function arguments. The following argument types are supported:\n    1. "
          "(self: "
          "torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None");
    slot.register_hooks(make_saved_hooks(pack, unpack));
    return Py_NewRef(Py_None);
  });
}

void saved_tensor_dealloc(PyObject* self) {
  live_handles().erase(object_of(self)->key);
  object_of(self)->node.~WeakNodePtr();
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "Trying to create a SavedTensor object from Python is forbidden.");
  return nullptr;
}

}  // namespace

Ref make_saved_tensor_type() {
  static PyMethodDef methods[] = {{"unpack", saved_unpack, METH_NOARGS, nullptr},
                                  {"register_hooks", saved_register_hooks, METH_VARARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef attributes[] = {{"data", get_data, nullptr, nullptr, nullptr},
                                     {"unpack_hook", get_unpack_hook, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(saved_tensor_dealloc)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {0, nullptr}};
  static PyType_Spec spec = {"torch._C._autograd.SavedTensor", sizeof(SavedTensorObject), 0, Py_TPFLAGS_DEFAULT, slots};
  return checked(PyType_FromSpec(&spec));
}

Ref wrap_saved_slot(const NodePtr& node, size_t slot) {
  const SlotKey key{node.get(), slot};
  const auto known = live_handles().find(key);
  if (known != live_handles().end() && object_of(known->second)->node.lock()) return Ref::borrow(known->second);
  PyTypeObject* type = state().saved_tensor_type;
  Ref handle = checked(type->tp_alloc(type, 0));
  new (&object_of(handle.get())->node) WeakNodePtr(node);
  object_of(handle.get())->key = key;
  live_handles()[key] = handle.get();
  return handle;
}

}  // namespace gradlife
