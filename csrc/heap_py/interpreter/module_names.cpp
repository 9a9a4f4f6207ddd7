#include "heap_py/interpreter/module_names.hpp"

#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/key_text.hpp"

namespace gradlife::heap {

std::string_view plain_text(const PyObject* text) {
  auto* unicode = const_cast<PyObject*>(text);
  if (unicode == nullptr || !PyUnicode_CheckExact(unicode) || !PyUnicode_IS_COMPACT_ASCII(unicode)) return {};
  return {static_cast<const char*>(PyUnicode_DATA(unicode)), static_cast<size_t>(PyUnicode_GET_LENGTH(unicode))};
}

PyObject* value_named(PyObject* dict, const char* name) {
  PyObject *key, *value;
  for (Py_ssize_t at = 0; dict != nullptr && PyDict_Next(dict, &at, &key, &value) != 0;)
    if (plain_text(key) == name) return value;
  return nullptr;
}

PyObject* module_variable(const char* module, const char* name) {
  PyObject* found = value_named(PyImport_GetModuleDict(), module);
  return found != nullptr && PyModule_Check(found) ? value_named(PyModule_GetDict(found), name) : nullptr;
}

PyObject* own_attribute(PyObject* object, const char* name) {
  struct Search {
    const char* name;
    PyObject* found;
  } search{name, nullptr};
  gl_visit_inline_attributes(
      object,
      [](PyObject* known, PyObject* value, void* state) {
        Search& search = *static_cast<Search*>(state);
        if (plain_text(known) == search.name) search.found = value;
      },
      &search);
  return search.found != nullptr ? search.found : value_named(gl_existing_dict(object), name);
}

std::string thread_name(PyThreadState* thread) {
  PyObject* known = module_variable("threading", "_active");
  if (known == nullptr || !PyDict_CheckExact(known)) return "";
  PyObject *ident, *object;
  for (Py_ssize_t at = 0; PyDict_Next(known, &at, &ident, &object) != 0;) {
    if (!PyLong_CheckExact(ident)) continue;
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(ident, &overflow);
    if (overflow != 0 || static_cast<unsigned long>(number) != gl_thread_ident(thread)) continue;
    PyObject* name = own_attribute(object, "_name");
    return name != nullptr ? text_of(name) : "";
  }
  return "";
}

}  // namespace gradlife::heap
