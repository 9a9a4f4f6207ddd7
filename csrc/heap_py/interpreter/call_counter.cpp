#include "heap_py/interpreter/call_counter.hpp"

#include "heap_py/interpreter/exception_border.hpp"

namespace gradlife::heap {
namespace {

// Global, because a function's vectorcall is given no data of its own. The GIL guards them.
PyFunctionObject* counted = nullptr;
vectorcallfunc original_call = nullptr;  // stays set after counting ends: counted calls may still run
PyObject* on_limit = nullptr;
long long count = 0, limit = -1;
thread_local int depth = 0;

void notify() {
  Ref callback = Ref::borrow(on_limit);
  if (Ref done = Ref::steal(PyObject_CallNoArgs(callback.get())); !done) PyErr_WriteUnraisable(callback.get());
}

PyObject* count_and_call(PyObject* function, PyObject* const* arguments, size_t flags, PyObject* names) {
  if (depth == 0 && reinterpret_cast<PyFunctionObject*>(function) == counted && ++count == limit) notify();
  ++depth;
  PyObject* result = original_call(function, arguments, flags, names);
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
  set_vectorcall(counted, original_call);
  Py_CLEAR(counted);
  Py_CLEAR(on_limit);
}

}  // namespace

PyObject* count_calls(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *function = nullptr, *callback = nullptr;
    if (PyArg_ParseTuple(arguments, "OO", &function, &callback) == 0) throw PythonErrorSet();
    if (function != Py_None && !(PyFunction_Check(function) && PyCallable_Check(callback))) {
      PyErr_SetString(PyExc_TypeError, "a Python function and a callback are needed");
      throw PythonErrorSet();
    }
    end_count();
    if (function == Py_None) Py_RETURN_NONE;
    counted = reinterpret_cast<PyFunctionObject*>(Py_NewRef(function));
    on_limit = Py_NewRef(callback);
    original_call = counted->vectorcall;
    count = 0;
    limit = -1;
    set_vectorcall(counted, count_and_call);
    Py_RETURN_NONE;
  });
}

PyObject* counted_calls(PyObject*, PyObject*) { return PyLong_FromLongLong(count); }

PyObject* set_counted_calls(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    long long new_count = 0, new_limit = 0;
    if (PyArg_ParseTuple(arguments, "LL", &new_count, &new_limit) == 0) throw PythonErrorSet();
    count = new_count;
    limit = new_limit;
    Py_RETURN_NONE;
  });
}

}  // namespace gradlife::heap
