// Labels of references that the traverse of torch's own types shows.
#include <algorithm>

#include "base/labels.hpp"
#include "heap_py/providers/torch/provider.hpp"

namespace gradlife::heap {
namespace {

Address address_of(const void* pointer) { return static_cast<Address>(reinterpret_cast<uintptr_t>(pointer)); }

// Records the label of one table of hooks among a node's references.
class TableSink final : public ReferenceSink {
 public:
  explicit TableSink(const PyObject* table) : table_(table) {}
  void python(PyObject* target, Relation, const char* label, int64_t) override {
    if (target == table_ && found == nullptr) found = label;
  }
  void native(const void*, uint32_t, const char*, int64_t) override {}
  const char* found = nullptr;

 private:
  const PyObject* table_;
};

}  // namespace

// A wrapper shows the tables of its node's hooks: the node knows which is which.
Label TorchProvider::describe_table(Address node, PyObject* table) {
  TableSink sink(table);
  if (node != 0) expand_address(node, sink);
  return {Relation::native, sink.found != nullptr ? sink.found : labels::hook_table};
}

// Returns the node of a context; 0: none, or none known to be alive.
Address TorchProvider::node_of_context(const PyObject* context) {
  Address node, back;
  const bool is_its_own = read(address_of(context), layout_.node_in_context, &node) && is_node(class_of(node).what) &&
                          read(node, layout_.context_in_node, &back) && back == address_of(context);
  return is_its_own ? node : 0;
}

Address TorchProvider::node_of_tensor(const PyObject* tensor) {
  Address impl, meta, node;
  const bool has_node = read(address_of(tensor), layout_.impl_in_wrapper, &impl) &&
                        class_of(impl).what == TorchClass::tensor && read(impl, layout_.meta_in_impl, &meta) &&
                        class_of(meta).what == TorchClass::meta && read(meta, layout_.node_in_meta, &node);
  return has_node ? node : 0;
}

// The traverse of a type gives no names. Labels the fields of wrappers and, if only a tensor owns its node, the node's
// Python object or hooks, which the tensor shows.
Label TorchProvider::describe_edge(PyObject* source, PyObject* target) {
  struct Field {
    uint32_t offset;
    const char* label;
  };
  const auto is_a = [&](const PyTypeObject* base) {
    return base != nullptr && PyType_IsSubtype(Py_TYPE(source), const_cast<PyTypeObject*>(base)) != 0;
  };
  const Field of_tensor[] = {{layout_.tensor_hooks_in_wrapper, labels::tensor_hooks},
                             {layout_.post_accumulate_hooks_in_wrapper, labels::post_accumulate_hooks}};
  const Field of_context[] = {{layout_.to_save_in_context, "to_save"},
                              {layout_.saved_for_forward_in_context, "saved_for_forward"},
                              {layout_.non_differentiable_in_context, "non_differentiable"},
                              {layout_.dirty_in_context, "dirty_tensors"}};
  const auto stands_at = [&](const Field& field) {
    Address found;
    return read(address_of(source), field.offset, &found) && found == address_of(target);
  };
  if (is_a(layout_.context_type)) {
    const Field* field = std::find_if(std::begin(of_context), std::end(of_context), stands_at);
    if (field != std::end(of_context)) return {Relation::native, field->label};
    return PyDict_Check(target) ? describe_table(node_of_context(source), target) : Label{};
  }
  if (!is_a(layout_.tensor_type)) {
    Address node = 0;
    if (Py_TYPE(source) == &PyCapsule_Type || !PyDict_Check(target)) return {};
    return describe_table(read(address_of(source), layout_.node_in_wrapper, &node) ? node : 0, target);
  }
  const Field* field = std::find_if(std::begin(of_tensor), std::end(of_tensor), stands_at);
  if (field != std::end(of_tensor)) return {Relation::native, field->label};
  if (PyDict_Check(target)) return describe_table(node_of_tensor(source), target);
  return knows(Py_TYPE(target)) ? Label{Relation::native, "grad_fn"} : Label{};
}

}  // namespace gradlife::heap
