// Classes of tensors that take over what is done to them: `__torch_function__` of PyTorch.
//
// A check stands in front of each function, method, attribute and operator: where an argument, or one in a list, is of
// a subclass of Tensor, the class is asked. That costs one comparison while there is no such class.
#pragma once

#include <initializer_list>
#include <vector>

#include "base/pyref.hpp"

namespace gradlife {

void let_classes_override(std::vector<PyMethodDef>& rows, bool are_methods);
PyGetSetDef* let_classes_override(const PyGetSetDef* attributes);

// True if tensors of this class take over: all classes but those that have it disabled, as Parameter has.
bool has_function(PyTypeObject* type);
// True if this object's class overrides __torch_function__ now.
bool overrides(PyObject* object);
// True if an object, or an item of one, does.
bool one_overrides(std::initializer_list<PyObject*> arguments);
// The answer of their classes about a method of tensors. Errors: PythonError.
PyObject* ask_classes(const char* method, std::initializer_list<PyObject*> arguments);
// The same for an operator: a TypeError says that the other operand may have its say.
PyObject* ask_operands(const char* method, PyObject* left, PyObject* right);

extern PyMethodDef overriding_functions[];

}  // namespace gradlife
