#include "heap_py/interpreter/exit_call.hpp"

#include "heap_py/interpreter/exception_border.hpp"

namespace gradlife::heap {
namespace {

// The place of the callback in the dict of its interpreter: the function is given no data of its own.
constexpr const char* before_exit = "gradlife.before_exit";
_PyCFunctionFastWithKeywords plain_exit = nullptr;  // stays set: a call may be under way

// Returns the dict for what extensions keep of this interpreter; nullptr if there is none.
PyObject* interpreter_dict() { return PyInterpreterState_GetDict(PyInterpreterState_Get()); }

// Returns what this interpreter has to call; nullptr if nothing.
Ref callback_now() {
  PyObject* dict = interpreter_dict();
  PyObject* found = dict != nullptr ? PyDict_GetItemString(dict, before_exit) : nullptr;
  return Ref::borrow(found);
}

// An argument that is no number is an error of the program, which goes on.
bool ends_process(PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  const Py_ssize_t named = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  return count + named == 1 && PyLong_Check(arguments[0]);
}

PyObject* call_and_exit(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  if (ends_process(arguments, count, names)) {
    Ref callback = callback_now();
    if (callback && callback.get() != Py_None)
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
    PyObject* dict = interpreter_dict();
    if (dict == nullptr) Py_RETURN_FALSE;
    checked_status(PyDict_SetItemString(dict, before_exit, callback));
    if (plain_exit == nullptr) {
      plain_exit = reinterpret_cast<_PyCFunctionFastWithKeywords>(reinterpret_cast<void (*)()>(entry->ml_meth));
      entry->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_and_exit));
    }
    Py_RETURN_TRUE;
  });
}

}  // namespace gradlife::heap
