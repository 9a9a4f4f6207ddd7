// `__slots__` of Python-level subclasses. Their own traverse and dealloc are replaced (tensor_type.cpp), because a
// wrapper kept by its impl must be neither traversed nor destroyed; so the slots are visited and cleared here.

#include "engine_py/wrappers/objects.hpp"

namespace gradlife {
namespace {

// Returns the members that type.__new__ stores behind the type object.
PyMemberDef* slot_members(PyTypeObject* type) {
  return reinterpret_cast<PyMemberDef*>(reinterpret_cast<char*>(type) + Py_TYPE(type)->tp_basicsize);
}

template <class Visit>
int each_slot(PyObject* self, PyTypeObject* base, Visit&& visit) {
  for (PyTypeObject* type = Py_TYPE(self); type != nullptr && type != base; type = type->tp_base) {
    PyMemberDef* member = slot_members(type);
    for (Py_ssize_t i = 0; i < Py_SIZE(type); ++i, ++member) {
      if (member->type != T_OBJECT_EX) continue;
      PyObject** slot = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + member->offset);
      if (const int stop = visit(slot)) return stop;
    }
  }
  return 0;
}

}  // namespace

int visit_slots(PyObject* self, PyTypeObject* base, visitproc visit, void* arg) {
  return each_slot(self, base, [&](PyObject** slot) { return *slot != nullptr ? visit(*slot, arg) : 0; });
}

void clear_slots(PyObject* self, PyTypeObject* base) {
  each_slot(self, base, [](PyObject** slot) {
    Py_CLEAR(*slot);
    return 0;
  });
}

}  // namespace gradlife
