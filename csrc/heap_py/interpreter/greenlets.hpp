// The frames of greenlets that wait. A greenlet is a stack of its own within a thread (gevent, SQLAlchemy, Playwright).
// While another one runs, no thread leads to its frames, and no tracked object does.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <vector>

namespace gradlife::heap {

bool is_greenlet(const PyTypeObject* type);

// Returns the newest frame of a greenlet, or nullptr: the object is no greenlet, or it has not begun, runs or has
// ended, or is the one that its thread began with. Older frames follow from it. Needs the interpreter lock; runs no
// code of the program, as the next two.
void* greenlet_frame(PyObject* object);
// Returns the frame that the greenlet began with, or nullptr.
void* first_greenlet_frame(PyObject* object);

// Returns the newest frame of each thread's own stack where the thread is in another greenlet: these frames live as
// long as the thread. Costs a pass over the collector's lists where greenlet is loaded. Error: std::bad_alloc.
std::vector<void*> frames_of_main_greenlets();

}  // namespace gradlife::heap
