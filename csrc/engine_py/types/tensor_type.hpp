// The Python type of tensors, its metaclass and its attributes.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

extern PyGetSetDef tensor_attributes[];  // tensor_attributes.cpp
extern PyMethodDef autograd_methods[];   // tensor_autograd.cpp: _backward internals, detach, retain_grad, ...

// tp_traverse of a wrapper that its impl would not keep alive.
PyObject* taken_from_kept(PyObject* self);  // by the collector, from a wrapper that its impl keeps; nullptr: nothing
int visit_tensor_references(PyObject* self, visitproc visit, void* arg);
Ref make_tensor_meta();
Ref make_tensor_base();

}  // namespace gradlife
