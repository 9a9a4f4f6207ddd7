// Words for nodes and for the references between them, read from live objects.
#pragma once

#include "heap_py/interpreter/provider.hpp"
#include "heap_py/labels/labels.hpp"

namespace gradlife::heap {

Py_ssize_t length_of(PyObject* object);  // of a list, tuple, dict or set, or a subclass

// The part of a description that a type adds: most types add none.
enum class Manner : uint8_t { nothing, length, function, own };

class Describer {
 public:
  Manner manner_of(const TypeRow& row) const;
  Describer(const Graph& graph, const std::vector<Provider*>& providers) : graph_(graph), providers_(providers) {}
  // Whether a provider knows the type: only such objects refer to native ones.
  bool is_wrapper(const TypeRow& row) const;
  std::string describe(NodeId node) const;  // "train_step (train.py:12)", "module numpy", "" if the type says all
  // Returns the label of the nth reference from one object to the other.
  Label describe_edge(NodeId from, NodeId to, size_t nth = 0) const;
  // Shows the references of a Python object that its own type does not name: a provider's, those of an lru_cache.
  void show(NodeId from, ReferenceSink& sink) const;
  // Adds a provider's description of a dict key that is neither text nor a number.
  void add_key(Label& label) const;
  // All references of a native object with their labels, read together.
  struct NativeEdge {
    const void* target;
    Label label;
  };
  std::vector<NativeEdge> native_edges(NodeId from) const;

 private:
  std::string describe_root(NodeId node) const;
  Label describe_root_edge(NodeId from, NodeId to) const;
  void* pointer(NodeId node) const { return reinterpret_cast<void*>(static_cast<uintptr_t>(graph_.addresses[node])); }
  const Graph& graph_;
  const std::vector<Provider*>& providers_;
};

}  // namespace gradlife::heap
