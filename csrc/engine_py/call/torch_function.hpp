// Classes of tensors that take over what is done to them: `__torch_function__` of PyTorch.
#pragma once

#include <vector>

#include "base/pyref.hpp"

namespace gradlife {

// Puts a check in front of each function: where an argument, or one in a list, is of a class that overrides, that class
// is asked. Costs one comparison while there is no such class.
void let_classes_override(std::vector<PyMethodDef>& functions);

// True if this object's class overrides __torch_function__ now.
bool overrides(PyObject* object);

extern PyMethodDef overriding_functions[];

}  // namespace gradlife
