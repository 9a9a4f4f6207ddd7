// The index or key of an object in a container.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "heap_py/interpreter/relation.hpp"

namespace gradlife::heap {

// Labels of items of dicts, lists, tuples, sets, deques, queues and their subclasses; else Relation::unknown.
Label label_in_container(PyObject* source, PyObject* target);
// The same of its nth reference to it, of dicts, lists and tuples.
Label another_label_in_container(PyObject* source, PyObject* target, size_t nth);
Label label_in_sequence(PyObject* const* items, Py_ssize_t count, PyObject* target, size_t nth = 0);
// The type among an object's own and its bases' whose full name in C this is, or null.
PyTypeObject* base_named(PyObject* object, const char* name);

}  // namespace gradlife::heap
