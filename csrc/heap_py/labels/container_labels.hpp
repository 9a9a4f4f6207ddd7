// The index or key of an object in a container.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "heap_py/interpreter/relation.hpp"

namespace gradlife::heap {

// Labels items of dicts, lists, tuples, sets, deques, queues and their subclasses; else Relation::unknown.
Label label_in_container(PyObject* source, PyObject* target);
// Labels the nth reference from the container to the target, for dicts, lists and tuples.
Label another_label_in_container(PyObject* source, PyObject* target, size_t nth);
Label label_in_sequence(PyObject* const* items, Py_ssize_t count, PyObject* target, size_t nth = 0);
// Returns the type or its base with this full name in C, or nullptr.
PyTypeObject* base_named(PyTypeObject* type, const char* name);
inline PyTypeObject* base_named(PyObject* object, const char* name) { return base_named(Py_TYPE(object), name); }

}  // namespace gradlife::heap
