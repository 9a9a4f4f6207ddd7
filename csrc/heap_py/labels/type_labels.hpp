// The field names of types written in C: those that declare them, and a table for those that do not.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "heap_py/interpreter/relation.hpp"

namespace gradlife::heap {

// The label of a reference through a field that the type or one of its bases declares.
struct DeclaredField {
  const PyMemberDef* member = nullptr;
  bool is_slot = false;  // of __slots__
};
DeclaredField declared_field(PyObject* object, const PyObject* target);

// Fields that a type or its bases declare: __slots__, and those of types written in C (__self__, func).
Label label_in_members(PyObject* object, PyObject* target);
// Functions, classes, exceptions, tracebacks and the other objects that the interpreter itself is made of.
Label label_in_core_type(PyObject* source, PyObject* target);
// The standard library's types in C: caches, futures, iterators, contexts.
Label label_in_library_type(PyObject* source, PyObject* target);

// The label of a reference without a name: the object's most likely use of the target.
Label label_by_use(PyObject* source, PyObject* target);

}  // namespace gradlife::heap
