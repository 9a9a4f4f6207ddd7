#include "heap_py/interpreter/call_counter.hpp"

#include "heap_py/interpreter/exception_border.hpp"

namespace gradlife::heap {
namespace {

// Global, because a function's vectorcall is given no data of its own. The GIL guards them.
PyFunctionObject* counted = nullptr;
vectorcallfunc plain = nullptr;  // stays after the end: counted calls may still run
PyObject* on_due = nullptr;
long long count = 0, due = -1;
thread_local int depth = 0;

void tell() {
  Ref callback = Ref::borrow(on_due);
  if (Ref done = Ref::steal(PyObject_CallNoArgs(callback.get())); !done) PyErr_WriteUnraisable(callback.get());
}

PyObject* count_and_call(PyObject* function, PyObject* const* arguments, size_t flags, PyObject* names) {
  if (depth == 0 && reinterpret_cast<PyFunctionObject*>(function) == counted && ++count == due) tell();
  ++depth;
  PyObject* result = plain(function, arguments, flags, names);
  --depth;
  return result;
}

void set_vectorcall(PyFunctionObject* function, vectorcallfunc call) {
#if PY_VERSION_HEX >= 0x030C0000
  PyFunction_SetVectorcall(function, call);
#else
  function->vectorcall = call;
#endif
}

void end_count() {
  if (counted == nullptr) return;
  set_vectorcall(counted, plain);
  Py_CLEAR(counted);
  Py_CLEAR(on_due);
}

}  // namespace

PyObject* count_calls(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *function = nullptr, *callback = nullptr;
    if (PyArg_ParseTuple(arguments, "OO", &function, &callback) == 0) throw PythonErrorSet();
    if (function != Py_None && !PyFunction_Check(function)) {
      PyErr_SetString(PyExc_TypeError, "only calls of a Python function are counted");
      throw PythonErrorSet();
    }
    end_count();
    if (function == Py_None) Py_RETURN_NONE;
    counted = reinterpret_cast<PyFunctionObject*>(Py_NewRef(function));
    on_due = Py_NewRef(callback);
    plain = counted->vectorcall;
    count = 0;
    due = -1;
    set_vectorcall(counted, count_and_call);
    Py_RETURN_NONE;
  });
}

PyObject* counted_calls(PyObject*, PyObject*) { return PyLong_FromLongLong(count); }

PyObject* set_counted_calls(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    if (PyArg_ParseTuple(arguments, "LL", &count, &due) == 0) throw PythonErrorSet();
    Py_RETURN_NONE;
  });
}

}  // namespace gradlife::heap
