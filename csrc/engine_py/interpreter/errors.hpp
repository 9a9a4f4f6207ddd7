// The border between C++ exceptions and Python's.
#pragma once

#include <type_traits>

#include "base/pyref.hpp"
#include "engine/policy/error.hpp"

namespace gradlife {

// A Python exception that propagates through C++ frames. Takes the pending exception, and restores it at the border.
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
bool is_true(Borrowed object);
// Returns the value of a key in a dict; empty if there is none. Errors of hashing and comparing.
Ref dict_item(Borrowed dict, const char* key);
// Returns a tuple of `count` items, each a new reference that `make(i)` returns.
template <class Make>
Ref make_tuple(size_t count, Make&& make) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), make(i).release());
  return tuple;
}
// Drops the pending exception in favour of another report. A MemoryError is kept and thrown.
void drop_error();
[[noreturn]] void raise_python(PyObject* type, const char* format, ...);

// Turns the C++ exception being handled into Python's current one.
void set_python_error();

// Runs `body` at the border: returns its result, or `on_error` with a Python exception set.
template <class Body, class Result>
Result guarded(Result on_error, Body&& body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return on_error;
  }
}
// The same for a function of Python: a body without a result gives None.
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return Py_NewRef(Py_None);
    } else {
      return body();
    }
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace gradlife
