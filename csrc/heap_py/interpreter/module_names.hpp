// Lookup of names in modules and instances, without running their code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <string_view>

namespace gradlife::heap {

// Returns a str's letters if they are ASCII; else empty. They live as long as the str.
std::string_view plain_text(const PyObject* text);
// Returns the UTF-8 of a str, such as the name of a file; empty for other objects. It is in the str itself if that is
// ASCII, else in `room`. Half characters, which stand for bytes of a name that are no UTF-8, are encoded like others.
std::string_view file_text(PyObject* text, std::string& room);
// Returns a dict's value under a name, or nullptr; `dict` may be nullptr.
PyObject* value_named(PyObject* dict, const char* name);
// Returns a variable of a loaded module, or nullptr.
PyObject* module_variable(const char* module, const char* name);
// Returns an attribute of the instance itself, not of its class, or nullptr.
PyObject* own_attribute(PyObject* object, const char* name);
// The name of a thread; empty if `threading` does not know it.
std::string thread_name(PyThreadState* thread);

}  // namespace gradlife::heap
