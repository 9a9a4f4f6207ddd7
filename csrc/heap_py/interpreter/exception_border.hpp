// The border between C++ exceptions and Python's, for the heap extension.
#pragma once

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "base/pyref.hpp"

namespace gradlife::heap {

struct PythonErrorSet {};  // thrown if Python's current exception describes the error

inline Ref checked(PyObject* result) {
  if (result == nullptr) throw PythonErrorSet();
  return Ref::steal(result);
}
inline void checked_status(int status) {
  if (status < 0) throw PythonErrorSet();
}

// Converts UTF-8 that may be broken, from files and from C++ names.
inline Ref text(std::string_view utf8) {
  return checked(PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "replace"));
}

inline void set_python_error() {
  try {
    throw;
  } catch (const PythonErrorSet&) {
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::system_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrno(PyExc_OSError);
  } catch (const std::out_of_range& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
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

}  // namespace gradlife::heap
