// Browsing of a frozen graph, as methods of gradlife._heap.Graph.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// dominated(node or None, first, count): their number, and [node] of those from `first` on
PyObject* dominated_method(PyObject* self, PyObject* arguments);
// search(text, count): their number, and [node] of the first ones
PyObject* search_method(PyObject* self, PyObject* arguments);

}  // namespace gradlife::heap
