// The state of a gradlife._heap module object: its types.
#pragma once

#include "heap_py/api/values.hpp"
#include "heap_py/interpreter/birth_marks.hpp"

namespace gradlife::heap {

struct ModuleState {
  PyTypeObject* graph_type;
  ValueTypes values;
  BirthMarks* births;  // owned
};

inline ModuleState& state_of(PyObject* module) { return *static_cast<ModuleState*>(PyModule_GetState(module)); }
// The value types of the module that made this graph.
inline const ValueTypes& values_of(PyObject* graph) {
  return static_cast<ModuleState*>(PyType_GetModuleState(Py_TYPE(graph)))->values;
}

}  // namespace gradlife::heap
