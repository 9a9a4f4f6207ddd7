// Arguments that wait for their call next to the function, as in a thread, a finalizer or a partial.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

#include "heap_py/interpreter/relation.hpp"

namespace gradlife::heap {

// Whether a reference of this name may lead to a call's arguments: "args", "_args".
bool names_arguments(PyObject* name);
// Returns the label of a tuple of call arguments: "worker(batch,label)". The function is the only Python function that
// the holder refers to, or the one that it calls target, function or callback. Empty if it is not certain.
std::string call_beside(PyObject* holder, PyObject* arguments, const Label& label);

}  // namespace gradlife::heap
