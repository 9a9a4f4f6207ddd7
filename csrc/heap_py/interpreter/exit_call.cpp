#include "heap_py/interpreter/exit_call.hpp"

#include "heap_py/interpreter/exception_border.hpp"

namespace gradlife::heap {
namespace {

// Global, because the function is given no data of its own. The GIL guards them.
PyObject* before_exit = nullptr;
_PyCFunctionFastWithKeywords plain_exit = nullptr;  // stays set: a call may be under way

// An argument that is no number is an error of the program, which goes on.
bool ends_process(PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  const Py_ssize_t named = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  return count + named == 1 && PyLong_Check(arguments[0]);
}

PyObject* call_and_exit(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  const bool is_main = PyInterpreterState_Get() == PyInterpreterState_Main();  // the callback belongs to that one
  if (before_exit != nullptr && is_main && ends_process(arguments, count, names)) {
    Ref callback = Ref::borrow(before_exit);
    if (Ref done = Ref::steal(PyObject_CallOneArg(callback.get(), arguments[0])); !done) PyErr_Clear();
  }
  return plain_exit(module, arguments, count, names);
}

// The entry of `os._exit` in the table of its module, which each object of it reads at a call.
PyMethodDef* exit_entry() {
  Ref os = checked(PyImport_ImportModule("os"));
  Ref function = checked(PyObject_GetAttrString(os.get(), "_exit"));
  if (!PyCFunction_CheckExact(function.get())) return nullptr;
  PyMethodDef* entry = reinterpret_cast<PyCFunctionObject*>(function.get())->m_ml;
  return entry->ml_flags == (METH_FASTCALL | METH_KEYWORDS) ? entry : nullptr;
}

}  // namespace

PyObject* call_before_exit(PyObject*, PyObject* callback) {
  return guarded([&]() -> PyObject* {
    PyMethodDef* entry = exit_entry();
    if (entry == nullptr) Py_RETURN_FALSE;
    Py_XSETREF(before_exit, callback != Py_None ? Py_NewRef(callback) : nullptr);
    if (plain_exit == nullptr) {
      plain_exit = reinterpret_cast<_PyCFunctionFastWithKeywords>(reinterpret_cast<void (*)()>(entry->ml_meth));
      entry->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_and_exit));
    }
    Py_RETURN_TRUE;
  });
}

}  // namespace gradlife::heap
