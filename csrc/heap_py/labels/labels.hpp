// The label of a reference from one object to another. Reads objects without running their code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "heap_py/interpreter/provider.hpp"
#include "heap_py/interpreter/relation.hpp"

namespace gradlife::heap {

// Returns the label of the reference from `source` to `target`; Relation::unknown: none found. Of several labels, the
// one that people can act on.
Label describe_reference(PyObject* source, PyObject* target, size_t nth = 0);
Label describe_frame_reference(void* frame, PyObject* target);
// Describes a running frame: "train_step, line 12 of train.py".
std::string describe_frame(void* frame);
}  // namespace gradlife::heap
