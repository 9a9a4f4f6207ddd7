// The recorder of storages' lifetimes as Python gets it. There is one at a time.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace gradlife::heap {

// follow_storages([address, ...], (runner's file, ...), (skipped file, ...), (foreign file, ...), torch.Tensor,
// describe, written, on_alarm, address of the function that tells a thread's graph task); RuntimeError: they are
// followed already, or torch's layout is not known
PyObject* follow_storages(PyObject* module, PyObject* arguments);
// run_followed(mode, function, types, args, kwargs): what a dispatch mode does in the place of an operation
PyObject* run_followed(PyObject* module, PyObject* const* arguments, Py_ssize_t count);
PyObject* set_followed_context(PyObject* module, PyObject* number);
PyObject* set_followed_alarm(PyObject* module, PyObject* operation);
PyObject* followed_operations(PyObject* module, PyObject* unused);  // how many there were
// followed() -> (operations, events, storages, [stack, ...]): see the stub
PyObject* followed(PyObject* module, PyObject* unused);
// A weak reference of each storage is then the caller's to give back.
PyObject* unfollow_storages(PyObject* module, PyObject* unused);

}  // namespace gradlife::heap
