#include "heap_py/interpreter/outermost_calls.hpp"

#include <frameobject.h>

#include <algorithm>
#include <string>
#include <vector>

#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/module_names.hpp"

namespace gradlife::heap {
namespace {

// Global, because one thread is watched, and Python's own profile functions are slower by the dicts of locals that they
// make. The GIL guards them.
std::vector<std::string> foreign;
const PyFrameObject* followed = nullptr;  // borrowed: it runs, and its return ends this

// Whether the code is of a function of the program: no module, class body, comprehension or lambda.
bool is_of_program(const PyCodeObject* code) {
  if ((code->co_flags & CO_OPTIMIZED) == 0 || PyUnicode_GET_LENGTH(code->co_name) == 0 ||
      PyUnicode_READ_CHAR(code->co_name, 0) == '<')
    return false;
  std::string room;
  const std::string_view file = file_text(code->co_filename, room);
  return std::none_of(foreign.begin(), foreign.end(),
                      [&](const std::string& folder) { return file.compare(0, folder.size(), folder) == 0; });
}

// Asks the callback. An error of it is printed, and never the program's.
bool ask(PyObject* callback, PyFrameObject* frame) {
  const Ref answer = Ref::steal(PyObject_CallOneArg(callback, reinterpret_cast<PyObject*>(frame)));
  if (!answer) PyErr_WriteUnraisable(callback);
  return answer.get() == Py_True;
}

bool ask_keeping_error(PyObject* callback, PyFrameObject* frame) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);  // a return may be the way of an exception
  const bool answer = ask(callback, frame);
  PyErr_Restore(type, value, trace);
  return answer;
}

bool is_watching();

// The callbacks, one for calls and one for returns, are the object of the profile function: it owns them.
int hear(PyObject* callbacks, PyFrameObject* frame, int what, PyObject*) {
  const Ref kept = Ref::borrow(callbacks);  // a callback may end this
  if (what == PyTrace_RETURN && frame == followed) {
    if (ask_keeping_error(PyTuple_GET_ITEM(callbacks, 1), frame)) followed = nullptr;
  } else if (what == PyTrace_CALL && followed == nullptr) {
    const Ref code = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    if (is_of_program(reinterpret_cast<PyCodeObject*>(code.get())) &&
        ask_keeping_error(PyTuple_GET_ITEM(callbacks, 0), frame) && is_watching())
      followed = frame;
  }
  return 0;
}

bool is_watching() { return PyThreadState_Get()->c_profilefunc == hear; }

}  // namespace

PyObject* watch_outermost_calls(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *folders = nullptr, *on_call = nullptr, *on_return = nullptr;
    if (PyArg_ParseTuple(arguments, "O!OO", &PyTuple_Type, &folders, &on_call, &on_return) == 0) throw PythonErrorSet();
    foreign.clear();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(folders); ++i) {
      std::string room;
      foreign.emplace_back(file_text(PyTuple_GET_ITEM(folders, i), room));
    }
    const Ref callbacks = checked(PyTuple_Pack(2, on_call, on_return));
    followed = nullptr;
    PyEval_SetProfile(hear, callbacks.get());
    Py_RETURN_NONE;
  });
}

PyObject* unwatch_outermost_calls(PyObject*, PyObject*) {
  followed = nullptr;
  if (is_watching()) PyEval_SetProfile(nullptr, nullptr);
  Py_RETURN_NONE;
}

}  // namespace gradlife::heap
