#include "heap_py/labels/container_bounds.hpp"

#include <cstddef>
#include <cstring>

#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/key_text.hpp"
#include "heap_py/interpreter/module_names.hpp"

namespace gradlife::heap {
namespace {

bool is_cache(PyTypeObject* type) { return std::strcmp(type->tp_name, "functools._lru_cache_wrapper") == 0; }

bool is_deque(PyTypeObject* type) {
  for (; type != nullptr; type = type->tp_base)
    if (std::strcmp(type->tp_name, "collections.deque") == 0) return true;
  return false;
}

// The fields of a deque have had this order since 3.5; the position of the last, after the blocks that 3.11 began to
// keep, confirms it.
constexpr size_t max_free_blocks = 16;
struct DequeFields {
  PyObject_VAR_HEAD void* left_block;
  void* right_block;
  Py_ssize_t left_index, right_index;
  size_t state;
  Py_ssize_t most;
};

PyTypeObject* deque_type(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  while (std::strcmp(type->tp_name, "collections.deque") != 0) type = type->tp_base;
  return type;
}

std::string describe_deque(PyObject* object) {
  std::string text = "len " + std::to_string(Py_SIZE(object));
  constexpr size_t end = sizeof(DequeFields), later_end = end + (1 + max_free_blocks) * sizeof(void*);
  const auto weak_references = static_cast<size_t>(deque_type(object)->tp_weaklistoffset);
  if (weak_references != end && weak_references != later_end) return text;
  const Py_ssize_t most = reinterpret_cast<DequeFields*>(object)->most;
  return most >= 0 ? text + ", at most " + std::to_string(most) : text;
}

// Returns the closure variable of this name, or nullptr.
PyObject* closure_value(PyObject* function, const char* name) {
  auto* closure = reinterpret_cast<PyFunctionObject*>(function)->func_closure;
  auto* code = reinterpret_cast<PyCodeObject*>(reinterpret_cast<PyFunctionObject*>(function)->func_code);
  if (closure == nullptr) return nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(closure), first = code->co_nlocalsplus - count;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* known = PyTuple_GET_ITEM(code->co_localsplusnames, first + i);
    if (PyUnicode_CompareWithASCIIString(known, name) == 0) return PyCell_GET(PyTuple_GET_ITEM(closure, i));
  }
  return nullptr;
}

// functools gives each cache a function `cache_parameters`, which closes over the requested size.
std::string describe_cache(PyObject* cache) {
  PyObject* names = gl_existing_dict(cache);
  PyObject* function = value_named(names, "__wrapped__");
  std::string text;
  if (function != nullptr && PyFunction_Check(function)) {
    const auto* wrapped = reinterpret_cast<PyFunctionObject*>(function);
    text = describe_code(reinterpret_cast<PyCodeObject*>(wrapped->func_code), wrapped->func_qualname);
  }
  PyObject* parameters = value_named(names, "cache_parameters");
  if (parameters == nullptr || !PyFunction_Check(parameters)) return text;
  PyObject* most = closure_value(parameters, "maxsize");
  if (most == nullptr || !PyLong_CheckExact(most)) return text;
  return text + (text.empty() ? "" : ", ") + "at most " + describe_key(most);
}

}  // namespace

bool is_bounded(PyTypeObject* type) { return is_cache(type) || is_deque(type); }

std::string describe_bounded(PyObject* object) {
  if (is_cache(Py_TYPE(object))) return describe_cache(object);
  return is_deque(Py_TYPE(object)) ? describe_deque(object) : std::string();
}

std::string describe_code(PyCodeObject* code, PyObject* qualified_name) {
  std::string file = text_of(code->co_filename, 400);
  file = file.substr(file.find_last_of('/') + 1);
  return text_of(qualified_name, 200) + " (" + file + ":" + std::to_string(code->co_firstlineno) + ")";
}

}  // namespace gradlife::heap
