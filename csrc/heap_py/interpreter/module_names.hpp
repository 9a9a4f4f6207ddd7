// Lookup of a name in modules and instances, without running code of theirs.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <string_view>

namespace gradlife::heap {

// A str's letters where they are plain ASCII; empty for all else. They live as long as the str.
std::string_view plain_text(const PyObject* text);
// A dict's value under a name, or null; `dict` may be null.
PyObject* value_named(PyObject* dict, const char* name);
// A variable of a module that is loaded, or null.
PyObject* module_variable(const char* module, const char* name);
// An instance's attribute, or null: its own, not its class's.
PyObject* own_attribute(PyObject* object, const char* name);
// The name of a thread; empty if `threading` does not know it.
std::string thread_name(PyThreadState* thread);

}  // namespace gradlife::heap
