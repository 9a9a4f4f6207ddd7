// Arguments that wait for their call beside the function, as a thread, a finalizer, or a partial has them.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

#include "heap_py/interpreter/relation.hpp"

namespace gradlife::heap {

// Returns whether a reference of this name may lead to a call's arguments: "args", "_args".
bool names_arguments(PyObject* name);
// The label of a tuple of call arguments: "worker(batch,label)", the one function of Python's that the
// holder refers to, or calls its target, function or callback, and what that calls them. Empty where none is sure.
std::string call_beside(PyObject* holder, PyObject* arguments, const Label& label);

}  // namespace gradlife::heap
