#include "heap_py/interpreter/key_text.hpp"

#include <algorithm>

#include "heap_py/interpreter/type_table.hpp"

namespace gradlife::heap {

std::string text_of(PyObject* unicode, size_t limit) {
  if (unicode == nullptr || !PyUnicode_Check(unicode)) return "?";
  const Py_ssize_t length = PyUnicode_GET_LENGTH(unicode);
  if (PyUnicode_IS_COMPACT_ASCII(unicode) && static_cast<size_t>(length) <= limit) {
    const auto* letters = reinterpret_cast<const char*>(PyUnicode_DATA(unicode));
    if (std::all_of(letters, letters + length, [](char letter) { return letter >= 32 && letter < 127; }))
      return std::string(letters, static_cast<size_t>(length));
  }
  std::string text;
  const int kind = PyUnicode_KIND(unicode);
  const void* data = PyUnicode_DATA(unicode);
  for (Py_ssize_t i = 0; i < length && text.size() < limit; ++i) {
    const Py_UCS4 character = PyUnicode_READ(kind, data, i);
    text += character >= 32 && character < 127 ? static_cast<char>(character) : '?';
  }
  return static_cast<size_t>(length) > limit ? text + "..." : text;
}

namespace {

std::string referent_name(PyObject* reference) {
  PyObject* object = reinterpret_cast<PyWeakReference*>(reference)->wr_object;
  return object != Py_None ? type_name(Py_TYPE(object)) : "what is gone";
}

// Classes, functions and modules as keys of registries: the program's own names.
std::string definition_text(PyObject* key) {
  if (PyType_Check(key)) return "class " + type_name(reinterpret_cast<PyTypeObject*>(key));
  if (PyFunction_Check(key)) return "function " + text_of(reinterpret_cast<PyFunctionObject*>(key)->func_qualname, 200);
  return type_name(Py_TYPE(key));
}

}  // namespace

std::string describe_key(PyObject* key, int depth) {
  if (PyUnicode_Check(key)) return "'" + text_of(key) + "'";
  if (key == Py_None) return "None";
  if (PyBool_Check(key)) return key == Py_True ? "True" : "False";
  if (PyLong_CheckExact(key)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(key, &overflow);
    return overflow == 0 ? std::to_string(value) : "a large int";
  }
  if (PyTuple_CheckExact(key) && depth > 0) {
    std::string text = "(";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key) && i < 4; ++i)
      text += (i != 0 ? ", " : "") + describe_key(PyTuple_GET_ITEM(key, i), depth - 1);
    return text + (PyTuple_GET_SIZE(key) > 4 ? ", ...)" : ")");
  }
  if (PyWeakref_Check(key)) return "<weak reference to " + referent_name(key) + ">";
  return "<" + definition_text(key) + ">";
}

}  // namespace gradlife::heap
