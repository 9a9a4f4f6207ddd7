// Counts the calls of one Python function by its vectorcall pointer: its code, which torch's compiler reads, stays as
// it is.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// count_calls(function, on_limit): count the outermost calls of the function, per thread. Calls from bytecode, which
// Python runs in the same C frame, do not count. Functions are counted one at a time; None ends the count.
PyObject* count_calls(PyObject*, PyObject* arguments);

// counted_calls() -> the count.
PyObject* counted_calls(PyObject*, PyObject*);

// set_counted_calls(count, limit): go on from this count, and call `on_limit` before the call that makes it `limit`.
PyObject* set_counted_calls(PyObject*, PyObject* arguments);

}  // namespace gradlife::heap
