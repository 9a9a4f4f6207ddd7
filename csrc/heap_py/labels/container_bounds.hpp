// The declared bound of a container: a deque's maxlen, the maxsize of an lru_cache.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

namespace gradlife::heap {

bool is_bounded(PyTypeObject* type);  // whether its instances may have a declared bound
// "len 3, at most 100", "len 3", "load (train.py:12), at most 128"; empty for other types.
std::string describe_bounded(PyObject* object);
// "Model.forward (train.py:12)": the line of the `def`, or of its first decorator.
std::string describe_code(PyCodeObject* code, PyObject* qualified_name);

}  // namespace gradlife::heap
