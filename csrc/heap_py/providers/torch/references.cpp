// The provider's references of one object, for comparison with known ones.
#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/memory/allocation_size.hpp"
#include "heap_py/providers/torch/provider.hpp"

namespace gradlife::heap {
namespace {

// (label, index, kind, address) of each reference.
class ListSink final : public ReferenceSink {
 public:
  ListSink(PyObject* list, const Graph& graph) : list_(list), graph_(graph) {}
  void python(PyObject* target, Relation, const char* label, int64_t index) override {
    add(label, index, NodeKind::python, target);
  }
  void native(const void* target, uint32_t type, const char* label, int64_t index) override {
    add(label, index, graph_.type_rows[type].kind, target);
  }

 private:
  void add(const char* label, int64_t index, NodeKind kind, const void* target) {
    const Ref item = checked(Py_BuildValue("sLsK", label, static_cast<long long>(index), kind_name(kind),
                                           static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(target))));
    checked_status(PyList_Append(list_, item.get()));
  }
  PyObject* list_;
  const Graph& graph_;
};

// A provider on its own, without a walk.
class Trial {
 public:
  Trial() : builder_(graph_, 16), provider_(*tried_torch_layout(), PageCache::few) { provider_.start(builder_); }
  TorchProvider& provider() { return provider_; }
  const Graph& graph() const { return graph_; }

 private:
  Graph graph_;
  Builder builder_;
  TorchProvider provider_;
};

Address parse_address(PyObject* number) {
  const unsigned long long address = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return address;
}

}  // namespace

PyObject* torch_references(PyObject*, PyObject* object) {
  return guarded([&] {
    Ref list = checked(PyList_New(0));
    if (tried_torch_layout() == nullptr) return list.release();
    Trial trial;
    ListSink sink(list.get(), trial.graph());
    if (PyLong_CheckExact(object)) {
      trial.provider().expand_address(parse_address(object), sink);
    } else if (trial.provider().knows(Py_TYPE(object))) {
      trial.provider().expand_python(object, sink);
    }
    return list.release();
  });
}

PyObject* torch_description(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const Address address = parse_address(number);
    if (tried_torch_layout() == nullptr) return Py_NewRef(Py_None);
    const PageCache reader(PageCache::few);
    const TorchDescriptions descriptions(*tried_torch_layout(), reader);
    return Py_BuildValue("OOOK", text(descriptions.tensor(address)).get(), text(descriptions.storage(address)).get(),
                         text(descriptions.device(address)).get(),
                         static_cast<unsigned long long>(descriptions.bytes(address)));
  });
}

PyObject* torch_memory(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const Address address = parse_address(number);
    const TorchLayout* layout = tried_torch_layout();
    uint64_t data;
    if (layout == nullptr || layout->data_in_storage == TorchLayout::absent) return Py_NewRef(Py_None);
    if (!PageCache(PageCache::few).read_word(address + layout->data_in_storage, &data)) return Py_NewRef(Py_None);
    return PyLong_FromUnsignedLongLong(data);
  });
}

PyObject* torch_block(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const Address address = parse_address(number);
    const PageCache reader(PageCache::few);
    return PyLong_FromUnsignedLongLong(object_bytes(reader, address));
  });
}

PyObject* torch_label(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *source, *target;
    if (PyArg_ParseTuple(arguments, "OO", &source, &target) == 0) throw PythonErrorSet();
    if (tried_torch_layout() == nullptr) return Py_NewRef(Py_None);
    return text(Trial().provider().describe_edge(source, target).text).release();
  });
}

}  // namespace gradlife::heap
