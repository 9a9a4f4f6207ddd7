#include "engine_py/types/saved_tensor.hpp"

#include <map>
#include <new>
#include <utility>

#include "engine/graph/stale_handles.hpp"
#include "engine/policy/release_texts.hpp"
#include "engine_py/hooks/saved_hooks.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

using SlotKey = std::pair<const SlotPlace*, size_t>;

struct SavedTensorObject {
  PyObject_HEAD Ptr<SlotPlace> place;
  size_t index;
  PyObject* weakrefs;
};

// The live handles, so that a slot has only one. Borrowed: a dying handle removes itself.
std::map<SlotKey, PyObject*>& live_handles() {
  static auto* handles = new std::map<SlotKey, PyObject*>;
  return *handles;
}

SavedTensorObject* object_of(PyObject* self) { return reinterpret_cast<SavedTensorObject*>(self); }

// Uses whatever is where the slot was: the slot itself, another node's slot, or freed memory.
template <class Use>
PyObject* with_slot(PyObject* self, Use&& use) {
  return guarded([&]() -> PyObject* {
    const NodePtr node = object_of(self)->place->tenant();
    if (node && object_of(self)->index < node->slot_count()) return use(node, node->slot(object_of(self)->index));
    SavedSlot freed = SavedSlot::make_freed();
    return use(node, freed);
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
  return with_slot(self, [](const NodePtr&, SavedSlot& slot) { return wrap(slot.unpack()).release(); });
}

PyObject* saved_register_hooks(PyObject* self, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *pack = nullptr, *unpack = nullptr;
    const char* callable = text_for(*current_policy(), texts::callable);
    const bool are_two = PyArg_UnpackTuple(arguments, "register_hooks", 2, 2, &pack, &unpack) != 0;
    PyErr_Clear();
    if (!are_two || PyCallable_Check(pack) == 0 || PyCallable_Check(unpack) == 0)
      raise_python(
          PyExc_TypeError,
          "register_hooks(): incompatible function arguments. The following argument types are supported:\n    1. "
          "(self: torch._C._autograd.SavedTensor, arg0: %s, arg1: %s) -> None",
          callable, callable);
    return with_slot(self, [&](const NodePtr&, SavedSlot& slot) {
      slot.register_hooks(make_saved_hooks(pack, unpack));
      return Py_NewRef(Py_None);
    });
  });
}

void saved_tensor_dealloc(PyObject* self) {
  // First: a callback of a weak reference that reads the slot must not find the dying handle.
  live_handles().erase({object_of(self)->place.get(), object_of(self)->index});
  if (object_of(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  object_of(self)->place.~Ptr<SlotPlace>();
  free_object(self);
}

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "Trying to create a SavedTensor object from Python is forbidden.");
  return nullptr;
}

Ref make_type(PyMethodDef* methods, PyGetSetDef* attributes, PyTypeObject* base) {
  static PyMemberDef members[] = {
      {"__weaklistoffset__", T_PYSSIZET, offsetof(SavedTensorObject, weakrefs), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(saved_tensor_dealloc)},
                         {Py_tp_methods, methods},
                         {Py_tp_members, members},
                         {Py_tp_getset, attributes},
                         {0, nullptr}};
  PyType_Spec spec = {"torch._C._autograd.SavedTensor", sizeof(SavedTensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return checked(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base)));
}

}  // namespace

void make_saved_tensor_types(PyTypeObject** types) {
  static PyMethodDef no_methods[] = {{nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef no_attributes[] = {{nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef since_1_10[] = {{"register_hooks", saved_register_hooks, METH_VARARGS, nullptr},
                                     {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef since_2_10[] = {{"data", get_data, nullptr, nullptr, nullptr},
                                     {"unpack_hook", get_unpack_hook, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef since_2_13[] = {{"unpack", saved_unpack, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
  types[0] = reinterpret_cast<PyTypeObject*>(make_type(since_1_10, no_attributes, &PyBaseObject_Type).release());
  types[1] = reinterpret_cast<PyTypeObject*>(make_type(no_methods, since_2_10, types[0]).release());
  types[2] = reinterpret_cast<PyTypeObject*>(make_type(since_2_13, no_attributes, types[1]).release());
}

PyTypeObject* saved_tensor_type(const Policy& policy) {
  const bool unpacks = has(policy, traits::saved_tensor_unpacks);
  return state().saved_tensor_types[unpacks ? 2 : has(policy, traits::saved_tensor_shows_data) ? 1 : 0];
}

Ref wrap_saved_slot(const NodePtr& node, size_t slot) {
  Ptr<SlotPlace> place = place_of(*node);
  const SlotKey key{place.get(), slot};
  const auto known = live_handles().find(key);
  if (known != live_handles().end()) return Ref::borrow(known->second);
  PyTypeObject* type = saved_tensor_type(node->policy());
  Ref handle = checked(type->tp_alloc(type, 0));
  new (&object_of(handle.get())->place) Ptr<SlotPlace>(std::move(place));
  object_of(handle.get())->index = slot;
  live_handles()[key] = handle.get();
  return handle;
}

}  // namespace gradlife
