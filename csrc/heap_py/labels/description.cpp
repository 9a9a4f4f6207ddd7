#include "heap_py/labels/description.hpp"

#include <algorithm>
#include <cstring>

#include "base/labels.hpp"
#include "heap_py/interpreter/dict_types.hpp"
#include "heap_py/interpreter/greenlets.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/key_text.hpp"
#include "heap_py/interpreter/module_names.hpp"
#include "heap_py/interpreter/type_table.hpp"
#include "heap_py/labels/call_labels.hpp"
#include "heap_py/labels/container_bounds.hpp"
#include "heap_py/labels/type_labels.hpp"

namespace gradlife::heap {
namespace {

// Records the label of one target among the references that a provider shows.
class LabelSink final : public ReferenceSink {
 public:
  LabelSink(const void* target, size_t nth) : target_(target), left_(nth) {}
  void python(PyObject* target, Relation relation, const char* label, int64_t index) override {
    note(target, {relation, label, index});
  }
  void native(const void* target, uint32_t, const char* label, int64_t index) override {
    note(target, {Relation::native, label, index});
  }
  Label found;

 private:
  void note(const void* target, Label label) {
    if (target != target_ || found.relation != Relation::unknown) return;
    if (left_-- == 0) found = std::move(label);
  }
  const void* target_;
  size_t left_;
};

class CollectingSink final : public ReferenceSink {
 public:
  void python(PyObject* target, Relation relation, const char* label, int64_t index) override {
    found.push_back({target, {relation, label, index}});
  }
  void native(const void* target, uint32_t, const char* label, int64_t index) override {
    found.push_back({target, {Relation::native, label, index}});
  }
  std::vector<Describer::NativeEdge> found;
};

struct RootSearch {
  PyObject* target;
  const char* label;
};
void note_root(const char* label, PyObject* object, void* state) {
  auto& search = *static_cast<RootSearch*>(state);
  if (object == search.target && search.label == nullptr) search.label = label;
}

std::string module_text(PyObject* module) {
  PyObject* name = value_named(PyModule_GetDict(module), "__name__");
  return name != nullptr ? text_of(name, 200) : "?";
}

std::string function_text(PyObject* object) {
  const auto* function = reinterpret_cast<PyFunctionObject*>(object);
  return describe_code(reinterpret_cast<PyCodeObject*>(function->func_code), function->func_qualname);
}

// Whether it is a method of a module or a type, which holds nothing that a name could explain.
bool is_bound_builtin(PyObject* object) {
  if (!PyCFunction_Check(object)) return false;
  PyObject* self = reinterpret_cast<PyCFunctionObject*>(object)->m_self;
  return self != nullptr && !PyModule_Check(self) && !PyType_Check(self);
}
std::string builtin_text(PyObject* object) {
  const auto* function = reinterpret_cast<PyCFunctionObject*>(object);
  return type_name(Py_TYPE(function->m_self)) + "." + function->m_ml->ml_name;
}

bool is_set(PyTypeObject* type) {
  return PyType_IsSubtype(type, &PySet_Type) != 0 || PyType_IsSubtype(type, &PyFrozenSet_Type) != 0;
}
bool has_length(PyTypeObject* type) {
  constexpr unsigned long sequences = Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS;
  return (type->tp_flags & sequences) != 0 || is_dict_type(type) || is_set(type);
}
bool has_own_words(PyTypeObject* type) {
  for (PyTypeObject* known : {&PyModule_Type, &PyType_Type, &PyMethod_Type, &PyFrame_Type, &PyCode_Type, &PyGen_Type,
                              &PyCoro_Type, &PyAsyncGen_Type, &PyCFunction_Type})
    if (PyType_IsSubtype(type, known) != 0) return true;
  return is_bounded(type) || is_greenlet(type);
}

std::string python_text(PyObject* object) {
  if (PyModule_Check(object)) return module_text(object);
  if (PyFunction_Check(object)) return function_text(object);
  if (PyType_Check(object)) return type_name(reinterpret_cast<PyTypeObject*>(object));
  if (PyMethod_Check(object) && PyFunction_Check(PyMethod_GET_FUNCTION(object)))
    return function_text(PyMethod_GET_FUNCTION(object));
  if (is_bound_builtin(object)) return builtin_text(object);
  if (PyFrame_Check(object)) return describe_frame(gl_frame_of_object(object));
  if (PyCode_Check(object)) return text_of(reinterpret_cast<PyCodeObject*>(object)->co_qualname, 200);
  if (has_length(Py_TYPE(object))) return "len " + std::to_string(length_of(object));
  if (void* frame = gl_generator_frame(object)) return describe_frame(frame);
  if (void* frame = first_greenlet_frame(object)) return describe_frame(frame);
  return describe_bounded(object);
}

}  // namespace

Py_ssize_t length_of(PyObject* object) {
  if (is_dict(object)) return reinterpret_cast<PyDictObject*>(object)->ma_used;
  return PyAnySet_Check(object) ? reinterpret_cast<PySetObject*>(object)->used : Py_SIZE(object);
}

bool Describer::is_wrapper(const TypeRow& row) const {
  auto* type = reinterpret_cast<PyTypeObject*>(static_cast<uintptr_t>(row.address));
  return row.kind == NodeKind::python && row.address != 0 &&
         std::any_of(providers_.begin(), providers_.end(), [&](Provider* provider) { return provider->knows(type); });
}

Manner Describer::manner_of(const TypeRow& row) const {
  if (row.kind != NodeKind::python || row.address == 0) return Manner::own;
  auto* type = reinterpret_cast<PyTypeObject*>(static_cast<uintptr_t>(row.address));
  if (is_wrapper(row)) return Manner::own;
  if (type == &PyFunction_Type) return Manner::function;
  if (has_own_words(type)) return Manner::own;
  return has_length(type) ? Manner::length : Manner::nothing;
}

std::string Describer::describe(NodeId node) const {
  const TypeRow& row = graph_.type_of(node);
  if (row.kind == NodeKind::root) return describe_root(node);
  if (row.kind == NodeKind::python) {
    PyObject* object = static_cast<PyObject*>(pointer(node));
    for (Provider* provider : providers_)
      if (provider->knows(Py_TYPE(object))) return provider->describe_python(object);
    return python_text(object);
  }
  for (Provider* provider : providers_)
    if (provider->owns_type(graph_.types[node])) return provider->describe_native(pointer(node), graph_.types[node]);
  return "";
}

// Describes a root. The description of another thread's frame names the thread. Threads precede their frames.
std::string Describer::describe_root(NodeId node) const {
  const std::string& kind = graph_.type_of(node).name;
  if (kind == "thread") return thread_name(static_cast<PyThreadState*>(pointer(node)));
  if (kind != labels::running_frame) return "";
  NodeId above = node;
  while (above != process_root && graph_.type_of(above).name != "thread") --above;
  auto* thread = static_cast<PyThreadState*>(pointer(above));
  const std::string frame = describe_frame(pointer(node));
  if (above == process_root || thread == PyThreadState_Get()) return frame;
  const std::string name = thread_name(thread);
  return frame + ", " + (name.empty() ? "another thread" : "thread '" + name + "'");
}

Label Describer::describe_root_edge(NodeId from, NodeId to) const {
  const std::string& kind = graph_.type_of(from).name;
  PyObject* target = static_cast<PyObject*>(pointer(to));
  if (kind == labels::running_frame) return describe_frame_reference(pointer(from), target);
  RootSearch search{target, nullptr};
  if (kind == "interpreter") gl_visit_interpreter(static_cast<PyInterpreterState*>(pointer(from)), note_root, &search);
  if (kind == "thread") gl_visit_thread(static_cast<PyThreadState*>(pointer(from)), note_root, &search);
  return search.label != nullptr ? Label{Relation::root, search.label} : Label{};
}

void Describer::add_key(Label& label) const {
  if (label.key == nullptr || label.text.empty() || label.text.back() != '>') return;
  for (Provider* provider : providers_) {
    if (!provider->knows(Py_TYPE(label.key))) continue;
    const std::string text = provider->describe_python(label.key);
    if (!text.empty()) label.text.replace(label.text.size() - 1, 1, " " + text + ">");
  }
}

void Describer::show(NodeId from, ReferenceSink& sink) const {
  PyObject* source = static_cast<PyObject*>(pointer(from));
  for (Provider* provider : providers_)
    if (provider->knows(Py_TYPE(source))) provider->expand_python(source, sink);
  if (is_lru_cache(Py_TYPE(source))) show_lru_cache(source, sink);
}

Label Describer::describe_edge(NodeId from, NodeId to, size_t nth) const {
  const TypeRow& row = graph_.type_of(from);
  if (row.kind == NodeKind::root) return describe_root_edge(from, to);
  LabelSink sink(pointer(to), nth);
  if (row.kind != NodeKind::python) {
    for (Provider* provider : providers_)
      if (provider->owns_type(graph_.types[from])) provider->expand_native(pointer(from), graph_.types[from], sink);
    return sink.found;
  }
  PyObject* source = static_cast<PyObject*>(pointer(from));
  const bool is_python = graph_.type_of(to).kind == NodeKind::python;
  if (is_python) sink.found = describe_reference(source, static_cast<PyObject*>(pointer(to)), nth);
  add_key(sink.found);
  if (is_python) sink.found.call = call_beside(source, static_cast<PyObject*>(pointer(to)), sink.found);
  for (Provider* provider : providers_) {
    if (sink.found.relation != Relation::unknown || !provider->knows(Py_TYPE(source))) continue;
    provider->expand_python(source, sink);
    if (sink.found.relation == Relation::unknown && is_python)
      sink.found = provider->describe_edge(source, static_cast<PyObject*>(pointer(to)));
  }
  if (sink.found.relation == Relation::unknown && is_python)
    sink.found = label_by_use(source, static_cast<PyObject*>(pointer(to)));
  return sink.found;
}

std::vector<Describer::NativeEdge> Describer::native_edges(NodeId from) const {
  CollectingSink sink;
  for (Provider* provider : providers_)
    if (provider->owns_type(graph_.types[from])) provider->expand_native(pointer(from), graph_.types[from], sink);
  return std::move(sink.found);
}

}  // namespace gradlife::heap
