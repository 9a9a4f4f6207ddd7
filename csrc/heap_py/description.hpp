// Words for nodes and for the references between them, read from live objects.
#pragma once

#include "heap_py/labels.hpp"
#include "heap_py/provider.hpp"

namespace gradlife::heap {

class Describer {
 public:
  Describer(const Graph& graph, const std::vector<Provider*>& providers) : graph_(graph), providers_(providers) {}
  std::string describe(NodeId node) const;  // "train_step (train.py:12)", "module numpy", "" where the type says all
  Label describe_edge(NodeId from, NodeId to) const;
  // All references of a native object with their labels, in one look at it.
  struct NativeEdge {
    const void* target;
    Label label;
  };
  std::vector<NativeEdge> native_edges(NodeId from) const;

 private:
  Label describe_root_edge(NodeId from, NodeId to) const;
  void* pointer(NodeId node) const { return reinterpret_cast<void*>(static_cast<uintptr_t>(graph_.addresses[node])); }
  const Graph& graph_;
  const std::vector<Provider*>& providers_;
};

}  // namespace gradlife::heap
