// Tensor classes that override operations: PyTorch's `__torch_function__`.
//
// Each function, method, attribute and operator checks first: if an argument, or one in a list, is of a subclass of
// Tensor, the class is asked. The check costs one comparison while there is no such class.
#pragma once

#include <initializer_list>
#include <vector>

#include "base/pyref.hpp"

namespace gradlife {

void let_classes_override(std::vector<PyMethodDef>& rows, bool are_methods);
PyGetSetDef* let_classes_override(const PyGetSetDef* attributes);

// Whether tensors of this class override operations: all classes except those that disable it, as Parameter does.
bool has_function(PyTypeObject* type);
// True if this object's class overrides __torch_function__ now.
bool overrides(PyObject* object);
// Whether an object, or an item of one, overrides it.
bool one_overrides(std::initializer_list<PyObject*> arguments);
// Returns the answer of their classes for a method of tensors. Error: PythonError.
PyObject* ask_classes(const char* method, std::initializer_list<PyObject*> arguments);

extern PyMethodDef overriding_functions[];

}  // namespace gradlife
