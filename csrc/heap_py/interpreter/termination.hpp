// Announces a signal that ends the program, so that a report can be made before the program dies.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// announce_signals(descriptor, [number, ...]) -> [number, ...]: signals that would end the process, because nobody
// handles them, write their number to the descriptor instead, once. Another one seconds later ends the process; with
// the descriptor -1, any does. Python's own table does not know of this handler, so that the program sees what it would
// see, and a handler of its own replaces this one.
PyObject* announce_signals(PyObject*, PyObject* arguments);

}  // namespace gradlife::heap
