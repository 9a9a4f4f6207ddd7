#include "heap_py/labels/call_labels.hpp"

#include <algorithm>

#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/key_text.hpp"

namespace gradlife::heap {
namespace {

constexpr size_t longest_name = 16;

// Whether the name is "args" without its underscores and quotes.
bool names_arguments(const std::string& text) {
  const size_t first = text.find_first_not_of("'_"), last = text.find_last_not_of("'_");
  return first != std::string::npos && text.compare(first, last + 1 - first, "args") == 0;
}

struct Callee {
  PyObject* found = nullptr;
  bool is_only = true;
  void note(PyObject* object) {
    is_only = is_only && (found == nullptr || found == object);
    found = object;
  }
};

int note_function(PyObject* visited, void* state) {
  if (visited != nullptr && (PyFunction_Check(visited) || PyMethod_Check(visited) || PyCFunction_Check(visited)))
    static_cast<Callee*>(state)->note(visited);
  return 0;
}

// Notes the field name of the function that a holder will call.
void note_named(PyObject* name, PyObject* value, void* state) {
  if (value == nullptr || value == Py_None || !PyUnicode_Check(name)) return;
  const std::string text = text_of(name, longest_name);
  const size_t first = text.find_first_not_of('_');
  for (const char* known : {"target", "function", "func", "fn", "callback", "callable"})
    if (first != std::string::npos && text.compare(first, std::string::npos, known) == 0)
      static_cast<Callee*>(state)->note(value);
}

Callee callee_of(PyObject* holder) {
  Callee named, any;
  gl_visit_inline_attributes(holder, note_named, &named);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Check(holder) && PyDict_Next(holder, &at, &key, &value) != 0;)
    note_named(key, value, &named);
  if (named.found == nullptr) Py_TYPE(holder)->tp_traverse(holder, note_function, &any);
  return named.found != nullptr ? named : any;
}

}  // namespace

bool names_arguments(PyObject* name) {
  return PyUnicode_Check(name) && PyUnicode_GET_LENGTH(name) <= static_cast<Py_ssize_t>(longest_name) &&
         names_arguments(text_of(name, longest_name));
}

std::string call_beside(PyObject* holder, PyObject* arguments, const Label& label) {
  // The name is checked first: the arguments' type is far away in memory.
  if (label.text.size() > longest_name || !names_arguments(label.text) || !PyTuple_CheckExact(arguments)) return "";
  if (Py_TYPE(holder)->tp_traverse == nullptr) return "";
  const Callee callee = callee_of(holder);
  if (callee.found == nullptr || !callee.is_only) return "";
  const bool is_bound = PyMethod_Check(callee.found);
  PyObject* function = is_bound ? PyMethod_GET_FUNCTION(callee.found) : callee.found;
  if (!PyFunction_Check(function)) return "";
  const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  std::string text = text_of(code->co_name) + "(";
  const int first = is_bound ? 1 : 0;
  for (int i = first; i < code->co_argcount; ++i)
    text += (i > first ? "," : "") + text_of(PyTuple_GET_ITEM(code->co_localsplusnames, i));
  if ((code->co_flags & CO_VARARGS) != 0) {
    const int rest = code->co_argcount + code->co_kwonlyargcount;
    text += (text.back() == '(' ? "*" : ",*") + text_of(PyTuple_GET_ITEM(code->co_localsplusnames, rest));
  }
  return text + ")";
}

}  // namespace gradlife::heap
