// The recorder of creations as Python gets it. There is one at a time, for Python's allocator is the process's.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// start_recording((runner's file, ...), (skipped file, ...), (foreign file, ...), None or ((tensor type, ...), offset
// of a node's number, address of the function that tells the next one)); RuntimeError: it records already, or there are
// other interpreters
PyObject* start_recording(PyObject* module, PyObject* arguments);
PyObject* want_type(PyObject* module, PyObject* type);  // instances of this type matter from now on
// recorded() -> (addresses, sites, nodes, [stack, ...]): see the stub
PyObject* recorded(PyObject* module, PyObject* unused);
// living_nodes(first) -> (number that the thread's next node gets, [address, ...]): noted nodes from a number on
PyObject* living_nodes(PyObject* module, PyObject* first);
PyObject* rest_recording(PyObject* module, PyObject* unused);
// resume_recording(frames): stacks end at the frame that is so many older than the caller's
PyObject* resume_recording(PyObject* module, PyObject* frames);
PyObject* stop_recording(PyObject* module, PyObject* unused);
PyObject* bytes_before(PyObject* module, PyObject* type);  // bytes of an instance's block in front of it

}  // namespace gradlife::heap
