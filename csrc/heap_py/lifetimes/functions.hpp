// The recorder of storages' lifetimes for Python. There is only one at a time.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// follow_storages([address, ...], (runner's file, ...), (skipped file, ...), (foreign file, ...), torch.Tensor,
// describe, written, on_alarm, address of the function that returns a thread's graph task); RuntimeError if storages
// are already followed, or if torch's layout is unknown
PyObject* follow_storages(PyObject* module, PyObject* arguments);
// run_followed(mode, function, types, args, kwargs): what a dispatch mode does instead of an operation
PyObject* run_followed(PyObject* module, PyObject* const* arguments, Py_ssize_t count);
PyObject* set_followed_context(PyObject* module, PyObject* number);
PyObject* set_followed_alarm(PyObject* module, PyObject* operation);
PyObject* followed_operations(PyObject* module, PyObject* unused);  // the number of operations so far
PyObject* followed_bytes(PyObject* module, PyObject* unused);       // that malloc gave for the records so far
// followed() -> (operations, events, storages, [stack, ...]): see the stub
PyObject* followed(PyObject* module, PyObject* unused);
// Afterwards the caller must return a weak reference of each storage.
PyObject* unfollow_storages(PyObject* module, PyObject* unused);

}  // namespace gradlife::heap
