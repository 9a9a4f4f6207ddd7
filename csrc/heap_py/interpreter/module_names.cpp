#include "heap_py/interpreter/module_names.hpp"

#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/key_text.hpp"

namespace gradlife::heap {

std::string_view plain_text(const PyObject* text) {
  auto* unicode = const_cast<PyObject*>(text);
  if (unicode == nullptr || !PyUnicode_CheckExact(unicode) || !PyUnicode_IS_COMPACT_ASCII(unicode)) return {};
  return {static_cast<const char*>(PyUnicode_DATA(unicode)), static_cast<size_t>(PyUnicode_GET_LENGTH(unicode))};
}

namespace {

// Python's own encoder would store its result in the str.
void append_utf8(std::string& text, Py_UCS4 letter) {
  const auto add_rest = [&](int shift) { text += static_cast<char>(0x80 | (letter >> shift & 0x3F)); };
  if (letter < 0x80) {
    text += static_cast<char>(letter);
  } else if (letter < 0x800) {
    text += static_cast<char>(0xC0 | letter >> 6);
  } else if (letter < 0x10000) {
    text += static_cast<char>(0xE0 | letter >> 12);
    add_rest(6);
  } else {
    text += static_cast<char>(0xF0 | letter >> 18);
    add_rest(12);
    add_rest(6);
  }
  if (letter >= 0x80) add_rest(0);
}

}  // namespace

std::string_view file_text(PyObject* text, std::string& room) {
  if (text == nullptr || !PyUnicode_Check(text)) return {};
  const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
  if (PyUnicode_IS_ASCII(text)) return {static_cast<const char*>(PyUnicode_DATA(text)), static_cast<size_t>(length)};
  room.clear();
  for (Py_ssize_t i = 0; i < length; ++i) append_utf8(room, PyUnicode_READ_CHAR(text, i));
  return room;
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
