// What a reference from one object to another is called. Reads objects as they are: no code of theirs runs.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "heap_py/provider.hpp"
#include "heap_py/relation.hpp"

namespace gradlife::heap {

// How `source` refers to `target`; Relation::unknown where it does not show. Several places: the one to act on.
Label describe_reference(PyObject* source, PyObject* target);
Label describe_frame_reference(void* frame, PyObject* target);
// "train_step, line 12 of train.py", of a running frame.
std::string describe_frame(void* frame);
// A key as it would be written, without calling its repr: numbers, text, None, and tuples of these; else its type.
std::string describe_key(PyObject* key, int depth = 2);
std::string text_of(PyObject* unicode, size_t limit = 60);

}  // namespace gradlife::heap
