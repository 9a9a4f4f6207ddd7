#include "heap_py/description.hpp"

#include <cstring>

#include "heap_py/interpreter.h"
#include "heap_py/type_table.hpp"

namespace gradlife::heap {
namespace {

// Notes what one target is called among what a provider shows.
class LabelSink final : public ReferenceSink {
 public:
  explicit LabelSink(const void* target) : target_(target) {}
  void python(PyObject* target, Relation relation, const char* label, int64_t index) override {
    note(target, {relation, label, index});
  }
  void native(const void* target, uint32_t, const char* label, int64_t index) override {
    note(target, {Relation::native, label, index});
  }
  Label found;

 private:
  void note(const void* target, Label label) {
    if (target == target_ && found.relation == Relation::unknown) found = std::move(label);
  }
  const void* target_;
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
  PyObject* names = PyModule_GetDict(module);
  PyObject *key, *value;
  for (Py_ssize_t position = 0; names != nullptr && PyDict_Next(names, &position, &key, &value) != 0;)
    if (PyUnicode_CheckExact(key) && PyUnicode_CompareWithASCIIString(key, "__name__") == 0) return text_of(value, 200);
  return "?";
}

std::string python_text(PyObject* object) {
  if (PyModule_Check(object)) return module_text(object);
  if (PyFunction_Check(object)) return text_of(reinterpret_cast<PyFunctionObject*>(object)->func_qualname, 200);
  if (PyType_Check(object)) return type_name(reinterpret_cast<PyTypeObject*>(object));
  if (PyMethod_Check(object) && PyFunction_Check(PyMethod_GET_FUNCTION(object)))
    return text_of(reinterpret_cast<PyFunctionObject*>(PyMethod_GET_FUNCTION(object))->func_qualname, 200);
  if (PyFrame_Check(object)) return describe_frame(gl_frame_of_object(object));
  if (PyCode_Check(object)) return text_of(reinterpret_cast<PyCodeObject*>(object)->co_qualname, 200);
  if (PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object) || PyAnySet_Check(object)) {
    const Py_ssize_t length = PyDict_Check(object)     ? reinterpret_cast<PyDictObject*>(object)->ma_used
                              : PyAnySet_Check(object) ? reinterpret_cast<PySetObject*>(object)->used
                                                       : Py_SIZE(object);
    return "len " + std::to_string(length);
  }
  if (void* frame = gl_generator_frame(object)) return describe_frame(frame);
  return "";
}

}  // namespace

std::string Describer::describe(NodeId node) const {
  const TypeRow& row = graph_.type_of(node);
  if (row.kind == NodeKind::root) return row.name == "running frame" ? describe_frame(pointer(node)) : std::string();
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

Label Describer::describe_root_edge(NodeId from, NodeId to) const {
  const std::string& kind = graph_.type_of(from).name;
  PyObject* target = static_cast<PyObject*>(pointer(to));
  if (kind == "running frame") return describe_frame_reference(pointer(from), target);
  RootSearch search{target, nullptr};
  if (kind == "interpreter") gl_visit_interpreter(static_cast<PyInterpreterState*>(pointer(from)), note_root, &search);
  if (kind == "thread") gl_visit_thread(static_cast<PyThreadState*>(pointer(from)), note_root, &search);
  return search.label != nullptr ? Label{Relation::root, search.label} : Label{};
}

Label Describer::describe_edge(NodeId from, NodeId to) const {
  const TypeRow& row = graph_.type_of(from);
  if (row.kind == NodeKind::root) return describe_root_edge(from, to);
  LabelSink sink(pointer(to));
  if (row.kind != NodeKind::python) {
    for (Provider* provider : providers_)
      if (provider->owns_type(graph_.types[from])) provider->expand_native(pointer(from), graph_.types[from], sink);
    return sink.found;
  }
  PyObject* source = static_cast<PyObject*>(pointer(from));
  const bool is_python = graph_.type_of(to).kind == NodeKind::python;
  if (is_python) sink.found = describe_reference(source, static_cast<PyObject*>(pointer(to)));
  for (Provider* provider : providers_) {
    if (sink.found.relation != Relation::unknown || !provider->knows(Py_TYPE(source))) continue;
    provider->expand_python(source, sink);
    if (sink.found.relation == Relation::unknown && is_python)
      sink.found = provider->describe_edge(source, static_cast<PyObject*>(pointer(to)));
  }
  return sink.found;
}

std::vector<Describer::NativeEdge> Describer::native_edges(NodeId from) const {
  CollectingSink sink;
  for (Provider* provider : providers_)
    if (provider->owns_type(graph_.types[from])) provider->expand_native(pointer(from), graph_.types[from], sink);
  return std::move(sink.found);
}

}  // namespace gradlife::heap
