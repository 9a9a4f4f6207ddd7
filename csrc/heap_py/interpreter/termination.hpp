// A signal that ends the program is announced first, so that something can be reported about it before it dies.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// announce_signals(descriptor, [number, ...]) -> [number, ...]: those that end the process now, as nobody handles them,
// write their number to the descriptor instead, once: one that comes seconds later ends it, and with the descriptor -1
// any does. Python's own table does not know of it, so that the program sees what it would see, and a handler of its
// own takes the place of this one.
PyObject* announce_signals(PyObject*, PyObject* arguments);

}  // namespace gradlife::heap
