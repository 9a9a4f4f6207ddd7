// Tensors as OneFlow's Python sees them: without attributes of their own, without weak references, and unknown to the
// collector, so that every cycle through one of them stays for ever.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

// A final subclass of a class of tensors, whose instances carry nothing of Python's; wrappers of OneFlow's tensors that
// would be of that class are of this one. Subclasses that a program writes get their attributes from Python itself.
Ref make_bare_class(PyTypeObject* type);

// Borrowed. The bare counterpart of a class where it has one, else the class itself.
PyTypeObject* bare_class_of(PyTypeObject* type);

inline bool is_bare(const PyTypeObject* tensor_type) { return tensor_type->tp_weaklistoffset == 0; }

}  // namespace gradlife
