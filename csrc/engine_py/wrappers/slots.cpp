// `__slots__` of Python-level subclasses. Their own traverse and dealloc are replaced (tensor_type.cpp), since a
// wrapper that is kept by its impl must be neither traversed nor taken apart; so the slots are ours to visit and to
// clear.

#include "engine_py/wrappers/objects.hpp"

namespace gradlife {
namespace {

// The members that type.__new__ stores behind the type object itself.
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
