// Conversions between recorders and Python: texts, numbers as bytes, stacks as lists.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <vector>

#include "heap_py/creations/call_sites.hpp"
#include "heap_py/interpreter/exception_border.hpp"

namespace gradlife::heap {

std::vector<std::string> texts(PyObject* tuple);  // Error: PythonErrorSet

template <class Number>
Ref packed(const std::vector<Number>& numbers) {
  return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(numbers.data()),
                                           static_cast<Py_ssize_t>(numbers.size() * sizeof(Number))));
}

// [[(file, line, function), ...], ...]: innermost frame of each stack first. With columns: (file, line, function,
// column).
Ref stack_list(const CallSites& sites, bool with_columns = false);

}  // namespace gradlife::heap
