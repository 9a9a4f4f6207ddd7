// The border between C++ exceptions and Python's.
#pragma once

#include "base/pyref.hpp"
#include "engine/policy/error.hpp"

namespace gradlife {

// A Python exception on its way through C++ frames. Takes the pending exception with it, puts it back at the border.
class PythonError {
 public:
  PythonError();
  void restore();
  PyObject* value() const { return value_.get(); }  // the exception

 private:
  Ref value_;
};

// Throws PythonError for a NULL result; takes over the reference otherwise.
Ref checked(PyObject* result);
void checked_status(int status);
// The value of a key in a dict; nothing: no such key. Errors: those of hashing and comparing.
Ref dict_item(Borrowed dict, const char* key);
// Drops the pending exception, in whose place something else is reported; a lack of memory stays what it is, and is
// thrown.
void drop_error();
[[noreturn]] void raise_python(PyObject* type, const char* format, ...);

// Turns the C++ exception that is being handled into Python's current one.
void set_python_error();

// Runs `body` at the border: returns what it returns, or `on_error` with a Python exception set.
template <class Body, class Result>
Result guarded(Result on_error, Body&& body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return on_error;
  }
}
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace gradlife
