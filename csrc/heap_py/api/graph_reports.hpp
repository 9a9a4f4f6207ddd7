// Reports on a frozen graph as a whole, as methods of gradlife._heap.Graph.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/pyref.hpp"
#include "heapgraph/frozen/comparison.hpp"

namespace gradlife::heap {

PyObject* explain_method(PyObject* self, PyObject* node);  // the dict of investigate(), from what the graph has kept
PyObject* path_references_method(PyObject* self, PyObject* node);         // the references of its path only
PyObject* references_along_method(PyObject* self, PyObject* nodes);       // the references of any path, node by node
PyObject* path_references_along_method(PyObject* self, PyObject* nodes);  // the same, cut if it is long
PyObject* cycle_references_method(PyObject* self, PyObject* node);  // the references of a shortest cycle through it
PyObject* largest_method(PyObject* self, PyObject* count);          // [node]
PyObject* of_type_method(PyObject* self, PyObject* name);           // [node], largest retained size first
PyObject* nodes_method(PyObject* self, PyObject* arguments);        // nodes(kind, name or ""): [node], in order
PyObject* holders_method(PyObject* self, PyObject* name);           // [(type, kind, holders, references)]
PyObject* cyclic_parts_method(PyObject* self, PyObject*);  // [(start, nodes, bytes, is held, has native, has module)]
PyObject* shares_method(PyObject* self, PyObject* arguments);  // shares([node], by dominator): one tuple per node
PyObject* write_method(PyObject* self, PyObject* arguments);   // write(descriptor, notes, labels)

// [(type, kind, new, gone, grown, [node])]
Ref change_rows(const std::vector<TypeChange>& changes);
// compare_paths(before, after), a function of the module.
PyObject* compare_paths_of(PyObject* before, PyObject* after);

}  // namespace gradlife::heap
