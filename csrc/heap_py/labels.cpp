#include "heap_py/labels.hpp"

#include <structmember.h>

#include "heap_py/interpreter.h"
#include "heap_py/type_table.hpp"

namespace gradlife::heap {
namespace {

Label internal(const char* text) { return {Relation::internal, text}; }

Label in_dict(PyObject* dict, PyObject* target) {
  PyObject *key, *value;
  bool is_key = false;
  for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &key, &value) != 0;) {
    if (value == target) return {Relation::dict_value, describe_key(key)};
    is_key = is_key || key == target;
  }
  return is_key ? Label{Relation::dict_key, describe_key(target)} : Label{};
}

Label in_sequence(PyObject* const* items, Py_ssize_t count, PyObject* target) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (items[i] == target) return {Relation::item, "", i};
  return {};
}

Label in_set(PyObject* object, PyObject* target) {
  const auto* set = reinterpret_cast<PySetObject*>(object);
  for (Py_ssize_t i = 0; i <= set->mask; ++i)
    if (set->table[i].key == target) return {Relation::member, ""};
  return {};
}

Label in_inline_attributes(PyObject* object, PyObject* target) {
  struct Search {
    PyObject* target;
    PyObject* name;
  } search{target, nullptr};
  gl_visit_inline_attributes(
      object,
      [](PyObject* name, PyObject* value, void* state) {
        Search& search = *static_cast<Search*>(state);
        if (value == search.target) search.name = name;
      },
      &search);
  return search.name != nullptr ? Label{Relation::attribute, text_of(search.name)} : Label{};
}

// Fields that a type or its bases declare: __slots__, and those of types written in C (__self__, tb_next, func).
Label in_members(PyObject* object, PyObject* target) {
  for (PyTypeObject* type = Py_TYPE(object); type != nullptr; type = type->tp_base) {
    if (type->tp_members == nullptr) continue;
    for (const PyMemberDef* member = type->tp_members; member->name != nullptr; ++member) {
      if (member->type != T_OBJECT && member->type != T_OBJECT_EX) continue;
      if (*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + member->offset) != target) continue;
      const bool is_slot = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
      return {is_slot ? Relation::slot : Relation::internal, member->name};
    }
  }
  return {};
}

// Names of variables in the order of their slots, [first, first + count): "x,y".
std::string joined_names(PyCodeObject* code, int first, int count) {
  std::string names;
  for (int i = first; i < first + count && i < PyTuple_GET_SIZE(code->co_localsplusnames); ++i)
    names += (names.empty() ? "" : ",") + text_of(PyTuple_GET_ITEM(code->co_localsplusnames, i));
  return names;
}

// The tuples of defaults and of closure cells say after a colon what their items belong to.
Label in_function(PyFunctionObject* function, PyObject* target) {
  PyCodeObject* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  if (function->func_defaults == target) {
    const int count = static_cast<int>(PyTuple_GET_SIZE(target));
    return {Relation::internal, "__defaults__:" + joined_names(code, code->co_argcount - count, count)};
  }
  if (function->func_closure == target) {
    const int count = static_cast<int>(PyTuple_GET_SIZE(target));
    return {Relation::internal, "__closure__:" + joined_names(code, code->co_nlocalsplus - count, count)};
  }
  if (function->func_kwdefaults == target) return internal("__kwdefaults__");
  if (function->func_globals == target) return internal("__globals__");
  if (function->func_dict == target) return internal("__dict__");
  if (reinterpret_cast<PyObject*>(code) == target) return internal("__code__");
  return {};
}

Label in_exception(PyObject* exception, PyObject* target) {
  const auto* error = reinterpret_cast<PyBaseExceptionObject*>(exception);
  if (error->traceback == target) return internal("__traceback__");
  if (error->context == target) return internal("__context__");
  if (error->cause == target) return internal("__cause__");
  if (error->args == target) return internal("args");
  return {};
}

Label in_type(PyTypeObject* type, PyObject* target) {
  if (type->tp_dict == target) return internal("__dict__");
  if (type->tp_mro == target) return internal("__mro__");
  if (type->tp_bases == target) return internal("__bases__");
  if (reinterpret_cast<PyObject*>(type->tp_base) == target) return internal("__base__");
  return {};
}

// The cache of functools.lru_cache shows keys and results as its own.
Label in_lru_cache(PyObject* cache, PyObject* target) {
  if (std::string(Py_TYPE(cache)->tp_name) != "functools._lru_cache_wrapper") return {};
  if (gl_existing_dict(cache) == target) return internal("__dict__");
  if (PyDict_CheckExact(target)) return internal("cache");
  return internal(PyFunction_Check(target) ? "the cached function" : "a cached result or its arguments");
}

Label in_frame_object(PyObject* frame, PyObject* target) {
  void* running = gl_frame_of_object(frame);
  const Label found = running != nullptr ? describe_frame_reference(running, target) : Label{};
  return found.relation != Relation::unknown ? found : in_members(frame, target);
}

Label in_container(PyObject* source, PyObject* target) {
  if (PyDict_Check(source)) return in_dict(source, target);
  if (PyList_Check(source)) {
    auto* list = reinterpret_cast<PyListObject*>(source);
    return in_sequence(list->ob_item, Py_SIZE(list), target);
  }
  if (PyTuple_Check(source)) {
    auto* tuple = reinterpret_cast<PyTupleObject*>(source);
    return in_sequence(tuple->ob_item, Py_SIZE(tuple), target);
  }
  if (PyAnySet_Check(source)) return in_set(source, target);
  if (PyCell_Check(source)) return {Relation::cell, "cell_contents"};
  if (PyFunction_Check(source)) return in_function(reinterpret_cast<PyFunctionObject*>(source), target);
  if (PyExceptionInstance_Check(source)) return in_exception(source, target);
  if (PyType_Check(source)) return in_type(reinterpret_cast<PyTypeObject*>(source), target);
  if (PyWeakref_Check(source)) return internal("the callback of a weak reference");
  if (void* frame = gl_generator_frame(source)) return describe_frame_reference(frame, target);
  if (PyFrame_Check(source)) return in_frame_object(source, target);
  return in_lru_cache(source, target);
}

}  // namespace

const char* relation_name(Relation relation) {
  static constexpr const char* names[] = {"unknown", "attribute", "slot",   "dict_value", "dict_key", "item",
                                          "member",  "global",    "local",  "stack",      "cell",     "closure",
                                          "default", "internal",  "native", "root"};
  return names[static_cast<size_t>(relation)];
}

Label describe_reference(PyObject* source, PyObject* target) {
  Label found = in_container(source, target);
  if (found.relation == Relation::unknown) found = in_inline_attributes(source, target);
  if (found.relation == Relation::unknown) found = in_members(source, target);
  if (found.relation != Relation::unknown) return found;
  if (gl_existing_dict(source) == target) return internal("__dict__");
  if (reinterpret_cast<PyObject*>(Py_TYPE(source)) == target) return internal("__class__");
  return {};
}

Label describe_frame_reference(void* address, PyObject* target) {
  gl_frame frame;
  if (gl_read_frame(address, &frame) == 0) return {};
  PyObject* names = frame.code->co_localsplusnames;
  for (int i = 0; i < frame.fast_count; ++i)
    if (frame.fast[i] == target && i < PyTuple_GET_SIZE(names))
      return {Relation::local, text_of(PyTuple_GET_ITEM(names, i))};
  if (frame.locals == target) return internal("f_locals");
  if (frame.function == target) return internal("the running function");
  if (frame.frame_object == target) return internal("its frame object");
  if (reinterpret_cast<PyObject*>(frame.code) == target) return internal("f_code");
  for (int i = 0; i < frame.stack_count; ++i)
    if (frame.fast[frame.fast_count + i] == target) return {Relation::stack, ""};
  return {};
}

std::string describe_frame(void* address) {
  gl_frame frame;
  if (gl_read_frame(address, &frame) == 0) return "a frame";
  std::string source = text_of(frame.code->co_filename, 400);
  source = source.substr(source.find_last_of('/') + 1);
  std::string text = text_of(frame.code->co_qualname, 200) + " (" + source;
  if (frame.line > 0) text += ":" + std::to_string(frame.line);
  return text + ")";
}

std::string text_of(PyObject* unicode, size_t limit) {
  if (unicode == nullptr || !PyUnicode_Check(unicode)) return "?";
  std::string text;
  const Py_ssize_t length = PyUnicode_GET_LENGTH(unicode);
  const int kind = PyUnicode_KIND(unicode);
  const void* data = PyUnicode_DATA(unicode);
  for (Py_ssize_t i = 0; i < length && text.size() < limit; ++i) {
    const Py_UCS4 character = PyUnicode_READ(kind, data, i);
    text += character >= 32 && character < 127 ? static_cast<char>(character) : '?';
  }
  return static_cast<size_t>(length) > limit ? text + "..." : text;
}

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
  return "<" + type_name(Py_TYPE(key)) + ">";
}

}  // namespace gradlife::heap
