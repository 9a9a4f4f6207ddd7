#include "heap_py/labels/type_labels.hpp"

#include <structmember.h>

#include <algorithm>
#include <cstring>

#include "base/pyref.hpp"
#include "heap_py/interpreter/greenlets.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/key_text.hpp"
#include "heap_py/labels/labels.hpp"

namespace gradlife::heap {
namespace {

Label internal(const char* text) { return {Relation::internal, text}; }

struct Field {
  const PyObject* value;
  const char* name;
};
// Returns the first of these fields that holds the target.
template <size_t count>
Label first_of(const Field (&fields)[count], const PyObject* target) {
  for (const Field& field : fields)
    if (field.value == target) return internal(field.name);
  return {};
}

const PyObject* plain(const void* object) { return static_cast<const PyObject*>(object); }

// Names of variables in the order of their slots, [first, first + count): "x,y".
std::string joined_names(PyCodeObject* code, int first, int count) {
  std::string names;
  for (int i = std::max(first, 0); i < first + count && i < PyTuple_GET_SIZE(code->co_localsplusnames); ++i)
    names += (names.empty() ? "" : ",") + text_of(PyTuple_GET_ITEM(code->co_localsplusnames, i));
  return names;
}

// The tuples of defaults and of closure cells name after a colon the variables of their items.
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
  return first_of({{function->func_kwdefaults, "__kwdefaults__"},
                   {function->func_globals, "__globals__"},
                   {function->func_dict, "__dict__"},
                   {plain(code), "__code__"},
                   {function->func_annotations, "__annotations__"},
                   {function->func_builtins, "__builtins__"},
                   {function->func_module, "__module__"},
                   {function->func_doc, "__doc__"}},
                  target);
}

Label in_exception(PyObject* exception, PyObject* target) {
  const auto* error = reinterpret_cast<PyBaseExceptionObject*>(exception);
  return first_of({{error->traceback, "__traceback__"},
                   {error->context, "__context__"},
                   {error->cause, "__cause__"},
                   {error->args, "args"},
                   {error->notes, "__notes__"},
                   {error->dict, "__dict__"}},
                  target);
}

Label in_type(PyTypeObject* type, PyObject* target) {
  const PyObject* names = type->tp_dict;
#if PY_VERSION_HEX >= 0x030c0000
  const Ref owned = Ref::steal(PyType_GetDict(type));  // those of types written in C are stored separately
  names = owned.get();
#endif
  const bool is_heap = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
  const PyObject* module = is_heap ? reinterpret_cast<PyHeapTypeObject*>(type)->ht_module : nullptr;
  return first_of({{names, "__dict__"},
                   {type->tp_mro, "__mro__"},
                   {type->tp_bases, "__bases__"},
                   {plain(type->tp_base), "__base__"},
                   {module, "the module that defines it"}},
                  target);
}

Label in_builtin_function(PyObject* function, PyObject* target) {
  const auto* builtin = reinterpret_cast<PyCFunctionObject*>(function);
  return first_of({{builtin->m_self, "__self__"}, {builtin->m_module, "__module__"}}, target);
}

Label in_frame_object(PyObject* frame, PyObject* target) {
  void* running = gl_frame_of_object(frame);
  const Label found = running != nullptr ? describe_frame_reference(running, target) : Label{};
  if (found.relation != Relation::unknown) return found;
  const char* field = gl_frame_object_field(frame, target);
  return field != nullptr ? internal(field) : Label{};
}

Label in_greenlet(PyObject* greenlet, PyObject* target) {
  for (void* frame = greenlet_frame(greenlet); frame != nullptr; frame = gl_older_frame(frame)) {
    Label found = describe_frame_reference(frame, target);
    if (found.relation != Relation::unknown) return found;
  }
  return {};
}

bool is_dict_view(PyObject* object) {
  return Py_IS_TYPE(object, &PyDictKeys_Type) || Py_IS_TYPE(object, &PyDictValues_Type) ||
         Py_IS_TYPE(object, &PyDictItems_Type);
}

bool shows_memory(PyObject* object) {
  const char* type = Py_TYPE(object)->tp_name;
  return PyMemoryView_Check(object) || std::strcmp(type, "managedbuffer") == 0 ||
         std::strcmp(type, "pickle.PickleBuffer") == 0;
}

}  // namespace

DeclaredField declared_field(PyObject* object, const PyObject* target) {
  for (PyTypeObject* type = Py_TYPE(object); type != nullptr; type = type->tp_base) {
    if (type->tp_members == nullptr) continue;
    for (const PyMemberDef* member = type->tp_members; member->name != nullptr; ++member) {
      if (member->type != T_OBJECT && member->type != T_OBJECT_EX) continue;
      if (*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + member->offset) != target) continue;
      return {member, (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0};
    }
  }
  return {};
}

Label label_in_members(PyObject* object, PyObject* target) {
  const DeclaredField found = declared_field(object, target);
  if (found.member == nullptr) return {};
  return {found.is_slot ? Relation::slot : Relation::internal, found.member->name};
}

Label label_in_core_type(PyObject* source, PyObject* target) {
  if (PyCell_Check(source)) return {Relation::cell, "cell_contents"};
  if (PyFunction_Check(source)) return in_function(reinterpret_cast<PyFunctionObject*>(source), target);
  if (PyExceptionInstance_Check(source)) return in_exception(source, target);
  if (PyType_Check(source)) return in_type(reinterpret_cast<PyTypeObject*>(source), target);
  if (PyWeakref_Check(source)) return internal("the callback of a weak reference");
  if (PyCFunction_Check(source)) return in_builtin_function(source, target);
  if (void* frame = gl_generator_frame(source)) return describe_frame_reference(frame, target);
  if (PyFrame_Check(source)) return in_frame_object(source, target);
  if (PyTraceBack_Check(source))
    return first_of({{plain(reinterpret_cast<PyTracebackObject*>(source)->tb_next), "tb_next"},
                     {plain(reinterpret_cast<PyTracebackObject*>(source)->tb_frame), "tb_frame"}},
                    target);
  if (is_dict_view(source) || Py_IS_TYPE(source, &PyDictProxy_Type)) return internal("mapping");
  if (shows_memory(source)) return internal("obj");
  if (is_greenlet(Py_TYPE(source))) return in_greenlet(source, target);
  const char* field = gl_context_field(source, target);
  return field != nullptr ? internal(field) : Label{};
}

}  // namespace gradlife::heap
