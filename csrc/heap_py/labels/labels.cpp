#include "heap_py/labels/labels.hpp"

#include "base/labels.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/key_text.hpp"
#include "heap_py/labels/container_labels.hpp"
#include "heap_py/labels/type_labels.hpp"

namespace gradlife::heap {
namespace {

Label internal(const char* text) { return {Relation::internal, text}; }

Label in_inline_attributes(PyObject* object, PyObject* target) {
  if (gl_existing_dict(object) != nullptr) return {};  // from 3.13 on they stay in place, and are the dict's
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

Label in_dict_of_attributes(PyObject* object, PyObject* target) {
  return gl_existing_dict(object) == target ? internal("__dict__") : Label{};
}

Label in_its_type(PyObject* object, PyObject* target) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == target ? internal("__class__") : Label{};
}

// Labels a local variable; an argument is marked as one before its name.
Label local_label(PyCodeObject* code, int index) {
  const int arguments = code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0 ? 1 : 0) +
                        ((code->co_flags & CO_VARKEYWORDS) != 0 ? 1 : 0);
  const std::string name = text_of(PyTuple_GET_ITEM(code->co_localsplusnames, index));
  return {Relation::local, index < arguments ? labels::argument + name : name};
}

// Most specific labels first.
constexpr Label (*labellers[])(PyObject*, PyObject*) = {
    label_in_container,    label_in_core_type,    in_inline_attributes, label_in_members,
    in_dict_of_attributes, label_in_library_type, in_its_type};

}  // namespace

const char* relation_name(Relation relation) {
  static constexpr const char* names[] = {"unknown", "attribute", "slot",   "dict_value", "dict_key", "item",
                                          "member",  "global",    "local",  "stack",      "cell",     "closure",
                                          "default", "internal",  "native", "root"};
  return names[static_cast<size_t>(relation)];
}

Label describe_reference(PyObject* source, PyObject* target, size_t nth) {
  if (nth > 0) {
    Label found = another_label_in_container(source, target, nth);
    if (found.relation != Relation::unknown) return found;
  }
  for (const auto label : labellers) {
    Label found = label(source, target);
    if (found.relation != Relation::unknown) return found;
  }
  return {};
}

Label describe_frame_reference(void* address, PyObject* target) {
  gl_frame frame;
  if (gl_read_frame(address, &frame) == 0) return {};
  PyObject* names = frame.code->co_localsplusnames;
  for (int i = 0; i < frame.fast_count; ++i)
    if (gl_slot_reference(&frame, i) == target && i < PyTuple_GET_SIZE(names)) return local_label(frame.code, i);
  if (frame.locals == target) return internal("f_locals");
  if (frame.function == target) return internal("the running function");
  if (frame.frame_object == target) return internal("its frame object");
  if (reinterpret_cast<PyObject*>(frame.code) == target) return internal("f_code");
  const int height = gl_stack_height(address);
  for (int i = 0; i < height; ++i)
    if (gl_slot_reference(&frame, frame.fast_count + i) == target) return {Relation::stack, ""};
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

}  // namespace gradlife::heap
