// Browsing of a frozen graph, as methods of gradlife._heap.Graph.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// dominated(node or None, first, count): how many there are, and [node] of those in that place of their order
PyObject* dominated_method(PyObject* self, PyObject* arguments);
// search(text, count): how many there are, and [node] of the first
PyObject* search_method(PyObject* self, PyObject* arguments);

}  // namespace gradlife::heap
