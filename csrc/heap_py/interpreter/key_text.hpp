// Names and keys as they would be written, read without running their code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

namespace gradlife::heap {

// At most `limit` letters of a str; what is not plain ASCII is shown as "?".
std::string text_of(PyObject* unicode, size_t limit = 60);
// A key as it would be written, without calling its repr: numbers, text, None, tuples of these, and the names
// of classes and functions; else its type.
std::string describe_key(PyObject* key, int depth = 2);

}  // namespace gradlife::heap
