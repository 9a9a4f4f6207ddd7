// What a frozen graph reports as a whole, as methods of gradlife._heap.Graph.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

PyObject* story_method(PyObject* self, PyObject* node);        // as the dict of investigate(), from what is kept
PyObject* path_steps_method(PyObject* self, PyObject* node);   // the steps of its path alone
PyObject* cycle_steps_method(PyObject* self, PyObject* node);  // the steps of a shortest cycle through it
PyObject* largest_method(PyObject* self, PyObject* count);     // [node]
PyObject* of_type_method(PyObject* self, PyObject* name);      // [node], those that retain most first
PyObject* holders_method(PyObject* self, PyObject* name);      // [(type, kind, holders, references)]
PyObject* cyclic_parts_method(PyObject* self, PyObject*);      // [(start, nodes, bytes, is held, has native)]
PyObject* write_method(PyObject* self, PyObject* arguments);   // write(descriptor, notes, labels)

// compare_objects(before, after, examples), compare_paths(before, after): functions of the module.
PyObject* compare_objects_of(PyObject* before, PyObject* after, size_t examples);
PyObject* compare_paths_of(PyObject* before, PyObject* after);

}  // namespace gradlife::heap
