// The recorder of creations for Python. There is only one at a time, because Python's allocator is global.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// start_recording((runner's file, ...), (skipped file, ...), (foreign file, ...), None or ((tensor type, ...), offset
// of a node's number, address of the function that returns the next one)); RuntimeError if it already records, or if
// there are other interpreters
PyObject* start_recording(PyObject* module, PyObject* arguments);
PyObject* want_type(PyObject* module, PyObject* type);  // notes instances of this type from now on
// recorded() -> (addresses, sites, nodes, [stack, ...]): see the stub
PyObject* recorded(PyObject* module, PyObject* unused);
// living_nodes(first) -> (number of the thread's next node, [address, ...]): noted nodes from a number on
PyObject* living_nodes(PyObject* module, PyObject* first);
PyObject* rest_recording(PyObject* module, PyObject* unused);
// resume_recording(frames): stacks end at the frame this many levels above the caller's
PyObject* resume_recording(PyObject* module, PyObject* frames);
PyObject* stop_recording(PyObject* module, PyObject* unused);
PyObject* bytes_before(PyObject* module, PyObject* type);  // bytes of an instance's block before the object

}  // namespace gradlife::heap
