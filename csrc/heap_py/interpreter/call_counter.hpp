// Counts the calls of one Python function by its vectorcall pointer: its code, which torch's compiler reads, stays as
// it is.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// count_calls(function, on_due): count the calls of the function that are within no other one in their thread. Calls
// from bytecode, which Python runs in the same C frame, do not count. Functions are counted one at a time; None ends
// the count.
PyObject* count_calls(PyObject*, PyObject* arguments);

// counted_calls() -> the count.
PyObject* counted_calls(PyObject*, PyObject*);

// set_counted_calls(count, due): go on from this count, and call `on_due` before the call that makes it `due`.
PyObject* set_counted_calls(PyObject*, PyObject* arguments);

}  // namespace gradlife::heap
