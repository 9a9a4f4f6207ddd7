// Tells when the outermost function of a program begins and returns, by the profile function of its thread.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// watch_outermost_calls(foreign, begins, ends): at each call in this thread of a function in no file below `foreign`,
// `begins` is called with its frame. If it returns true, other calls are not heard until `ends`, which is called at
// each return of this frame, also where it only pauses, returns true.
PyObject* watch_outermost_calls(PyObject*, PyObject* arguments);

// unwatch_outermost_calls(): the end of it.
PyObject* unwatch_outermost_calls(PyObject*, PyObject*);

}  // namespace gradlife::heap
