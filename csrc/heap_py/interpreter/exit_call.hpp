// Calls a function before `os._exit`, which stays the object that it is.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// call_before_exit(callback) -> bool: from now on call it with the status before `os._exit` ends the process; None ends
// that. False if `os._exit` is not the function of Python.
PyObject* call_before_exit(PyObject*, PyObject* callback);

}  // namespace gradlife::heap
