#include "engine_py/interpreter/errors.hpp"

#include <cstdarg>
#include <new>

namespace gradlife {

PythonError::PythonError() {
#if PY_VERSION_HEX >= 0x030C0000
  value_ = Ref::steal(PyErr_GetRaisedException());
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  value_ = Ref::steal(value);
#endif
}

void PythonError::restore() {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(value_.release());
#else
  PyObject* value = value_.release();
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value))), value, PyException_GetTraceback(value));
#endif
}

Ref checked(PyObject* result) {
  if (result == nullptr) throw PythonError();
  return Ref::steal(result);
}

void checked_status(int status) {
  if (status < 0) throw PythonError();
}

bool is_true(Borrowed object) {
  const int truth = PyObject_IsTrue(object);
  checked_status(truth);
  return truth == 1;
}

Ref dict_item(Borrowed dict, const char* key) {
  const Ref name = checked(PyUnicode_FromString(key));
  PyObject* value = PyDict_GetItemWithError(dict, name.get());
  if (value == nullptr && PyErr_Occurred() != nullptr) throw PythonError();
  return Ref::borrow(value);
}

void drop_error() {
  if (PyErr_ExceptionMatches(PyExc_MemoryError) != 0) throw PythonError();
  PyErr_Clear();
}

void raise_python(PyObject* type, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  PyErr_FormatV(type, format, arguments);
  va_end(arguments);
  throw PythonError();
}

namespace {

PyObject* exception_type(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::type:
      return PyExc_TypeError;
    case ErrorKind::value:
      return PyExc_ValueError;
    case ErrorKind::index:
      return PyExc_IndexError;
    case ErrorKind::not_implemented:
      return PyExc_NotImplementedError;
    case ErrorKind::memory:
      return PyExc_MemoryError;
    case ErrorKind::any:
      return PyExc_Exception;
    case ErrorKind::runtime:
      break;
  }
  return PyExc_RuntimeError;
}

}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (PythonError& error) {
    error.restore();
  } catch (const EngineError& error) {
    PyErr_SetString(exception_type(error.kind), error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace gradlife
