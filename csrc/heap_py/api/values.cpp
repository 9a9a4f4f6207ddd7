#include "heap_py/api/values.hpp"

#include <algorithm>
#include <initializer_list>

#include "base/labels.hpp"
#include "base/visible_text.hpp"
#include "heap_py/interpreter/exception_border.hpp"

namespace gradlife::heap {
namespace {

constexpr char call_mark = '\x1f';  // between a name and its call, see Label::whole

PyStructSequence_Field object_fields[] = {
    {"kind", nullptr}, {"type", nullptr}, {"address", nullptr}, {"bytes", nullptr}, {nullptr, nullptr}};
PyStructSequence_Field reference_fields[] = {{"node", nullptr},    {"kind", nullptr},   {"type", nullptr},
                                             {"address", nullptr}, {"detail", nullptr}, {"relation", nullptr},
                                             {"label", nullptr},   {"index", nullptr},  {"bases", nullptr},
                                             {"call", nullptr},    {nullptr, nullptr}};
PyStructSequence_Field uncollectable_fields[] = {{"node", nullptr},   {"type", nullptr},      {"detail", nullptr},
                                                 {"hidden", nullptr}, {"referrers", nullptr}, {nullptr, nullptr}};

template <size_t N>
constexpr int count(PyStructSequence_Field (&)[N]) {
  return static_cast<int>(N) - 1;
}

PyStructSequence_Desc object_description = {"gradlife._heap.HeapObject", nullptr, object_fields, count(object_fields)};
PyStructSequence_Desc reference_description = {"gradlife._heap.Reference", nullptr, reference_fields,
                                               count(reference_fields)};
PyStructSequence_Desc uncollectable_description = {"gradlife._heap.UncollectableObject", nullptr, uncollectable_fields,
                                                   count(uncollectable_fields)};

void add_type(PyObject* module, PyTypeObject*& type, PyStructSequence_Desc& description) {
  type = PyStructSequence_NewType(&description);
  if (type == nullptr) throw PythonErrorSet();
  checked_status(PyModule_AddType(module, type));
}

Ref filled(PyTypeObject* type, std::initializer_list<PyObject*> owned) {
  PyObject* value = PyStructSequence_New(type);
  Py_ssize_t at = 0;
  for (PyObject* field : owned) {
    if (value != nullptr && field != nullptr) {
      PyStructSequence_SET_ITEM(value, at++, field);
    } else {
      Py_XDECREF(field);
      Py_CLEAR(value);
    }
  }
  return checked(value);
}

PyObject* word(const char* text) { return PyUnicode_InternFromString(text); }
PyObject* words(std::string_view utf8) {
  const std::string shown = visible(utf8);
  return PyUnicode_DecodeUTF8(shown.data(), static_cast<Py_ssize_t>(shown.size()), "replace");
}
PyObject* number(uint64_t value) { return PyLong_FromUnsignedLongLong(value); }

Ref names_of(const char* (*name)(size_t), size_t count) {
  Ref names = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(names.get(), i, checked(word(name(i))).release());
  return names;
}
Ref labels_by_name() {
  Ref found = checked(PyDict_New());
#define GRADLIFE_ADD_LABEL(name, text) \
  checked_status(PyDict_SetItemString(found.get(), #name, checked(word(text)).get()));
  GRADLIFE_LABELS(GRADLIFE_ADD_LABEL)
#undef GRADLIFE_ADD_LABEL
  return found;
}
const char* kind_at(size_t i) { return kind_name(static_cast<NodeKind>(i)); }
const char* relation_at(size_t i) { return relation_name(static_cast<Relation>(i)); }

}  // namespace

void add_values(PyObject* module, ValueTypes& types) {
  add_type(module, types.object, object_description);
  add_type(module, types.reference, reference_description);
  add_type(module, types.uncollectable, uncollectable_description);
  const Ref kinds = names_of(kind_at, static_cast<size_t>(NodeKind::root) + 1);
  const Ref relations = names_of(relation_at, static_cast<size_t>(Relation::root) + 1);
  checked_status(PyModule_AddObjectRef(module, "KINDS", kinds.get()));
  checked_status(PyModule_AddObjectRef(module, "RELATIONS", relations.get()));
  checked_status(PyModule_AddObjectRef(module, "LABELS", labels_by_name().get()));
}

Ref heap_object(const ValueTypes& types, const Graph& graph, NodeId node) {
  const TypeRow& row = graph.type_of(node);
  return filled(types.object, {word(kind_name(row.kind)), words(row.name), number(graph.addresses[node]),
                               graph.sizes.empty() ? Py_NewRef(Py_None) : number(graph.size_of(node))});
}

Ref reference(const ValueTypes& types, const Graph& graph, NodeId node, const std::string& description,
              const Label& to_next) {
  const TypeRow& row = graph.type_of(node);
  const std::string whole = to_next.whole();
  const std::string_view label = std::string_view(whole).substr(0, whole.find(call_mark));
  const std::string_view call = std::string_view(whole).substr(std::min(label.size() + 1, whole.size()));
  return filled(types.reference,
                {number(node), word(kind_name(row.kind)), words(row.name), number(graph.addresses[node]),
                 words(description), word(relation_name(to_next.relation)), words(label),
                 PyLong_FromLongLong(to_next.index), text(row.bases).release(), words(call)});
}

Ref omitted_objects(const ValueTypes& types, int64_t count) {
  return filled(types.reference,
                {number(0), word("gap"), word(""), number(0), word(""), word(relation_name(Relation::internal)),
                 word("..."), PyLong_FromLongLong(count), word(""), word("")});
}

Ref uncollectable_object(const ValueTypes& types, const Graph& graph, NodeId node, const std::string& description,
                         int64_t unseen, Ref referrers) {
  return filled(types.uncollectable, {number(node), words(graph.type_of(node).name), words(description),
                                      PyLong_FromLongLong(unseen), referrers.release()});
}

}  // namespace gradlife::heap
