// Tensors as in OneFlow's Python: without attributes, without weak references, and not tracked by the collector, so
// that a cycle through one of them is never freed.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

// Makes a final subclass of a tensor class whose instances carry nothing of Python's. OneFlow's wrappers use it in
// place of that class. Subclasses that a program writes get their attributes from Python itself.
Ref make_bare_class(PyTypeObject* type);

// Borrowed. The bare counterpart of a class if it has one, else the class itself.
PyTypeObject* bare_class_of(PyTypeObject* type);

inline bool is_bare(const PyTypeObject* tensor_type) { return tensor_type->tp_weaklistoffset == 0; }

}  // namespace gradlife
