// The field names of types written in C: from the types that declare them, and a table for the others.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "heap_py/interpreter/provider.hpp"

namespace gradlife::heap {

// The label of a reference through a field that the type or one of its bases declares.
struct DeclaredField {
  const PyMemberDef* member = nullptr;
  bool is_slot = false;  // from __slots__
};
DeclaredField declared_field(PyObject* object, const PyObject* target);

// Fields that a type or its bases declare: __slots__, and those of types written in C (__self__, func).
Label label_in_members(PyObject* object, PyObject* target);
// Labels for functions, classes, exceptions, tracebacks and other objects of the interpreter itself.
Label label_in_core_type(PyObject* source, PyObject* target);
// Labels for the standard library's types in C: caches, futures, iterators, contexts.
Label label_in_library_type(PyObject* source, PyObject* target);
bool is_lru_cache(PyTypeObject* type);
// Shows what an lru_cache keeps, with the labels of `label_in_library_type`. Pointers may be null.
void show_lru_cache(PyObject* wrapper, ReferenceSink& sink);

// The label of a reference without a name: the object's most likely use of the target.
Label label_by_use(PyObject* source, PyObject* target);

}  // namespace gradlife::heap
