// Names and keys as source code would show them, read without running their code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

namespace gradlife::heap {

// Returns at most `limit` letters of a str; other characters than ASCII are shown as "?".
std::string text_of(PyObject* unicode, size_t limit = 60);
// Returns a key as source code would show it, without calling its repr: numbers, text, None, tuples of these, and the
// names of classes and functions; else its type.
std::string describe_key(PyObject* key, int depth = 2);

}  // namespace gradlife::heap
