// The part of a graph that no root reaches, and how much of each object's reference count its references explain.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "heapgraph/graph/graph.hpp"
#include "heapgraph/graph/search.hpp"

namespace gradlife::heap {

// A reference is visible if the tp_traverse of a collectable object reports it, and hidden otherwise. A hidden
// reference that no edge of the graph accounts for is unexplained.
//
// Objects are numbered from 0 here, in the order of the graph. Coupled counts (PyTorch from 2.10 on): a native object
// holds one reference to its wrapper while it has owners besides the wrapper. Here this reference is drawn from each of
// these owners, not from the native object. If the visible edges to an object already add up to its count, a hidden
// edge is no further reference: some tp_traverse reports it on behalf of its holder. Such an edge is dropped.
class Garbage {
 public:
  using RefCount = std::function<int64_t(NodeId)>;
  Garbage(const Graph& graph, const PathTree& paths, const RefCount& count);

  size_t size() const { return nodes.size(); }
  // Whether the collector tracks the object and calls its tp_traverse.
  bool is_collectable(uint32_t i) const { return is_collectable_[i] != 0; }
  // The number of hidden references to an object. Those to a native object are hidden: tp_traverse reports Python
  // objects only.
  int64_t hidden(uint32_t i) const { return count_[i] - visible_[i]; }
  // The number of unexplained references among the hidden ones.
  int64_t unexplained(uint32_t i) const { return hidden(i) - known_[i] - (has_coupled_[i] != 0 ? 1 : 0); }
  // Return the wrapper of a native object that something else owns, too, which keeps the wrapper alive; else no_node.
  uint32_t wrapper_kept_by(uint32_t native) const;

  // coupled: from an owner of a native object to its wrapper; all of them count as one reference.
  // uncounted: the same in releases without coupled counts, where the wrapper's count has no such reference: it is
  // resurrected when its last Python reference goes.
  enum class EdgeKind : uint8_t { visible, hidden, coupled, uncounted };
  EdgeKind kind_of(size_t edge) const { return kinds_[edge]; }
  uint32_t index_of(NodeId node) const { return node != no_node ? index_[node] : no_node; }
  const Graph& graph() const { return graph_; }

  Buffer<NodeId> nodes;
  Edges references;

 private:
  void find_coupled_wrappers();
  void add_row(uint32_t from);
  void add(uint32_t to, EdgeKind kind);
  void find_kept_wrappers();
  void leave_out_taken();
  void add_owner(uint32_t from, uint32_t native);
  void drop_redundant_hidden();

  const Graph& graph_;
  Buffer<uint32_t> index_;                             // of each of the graph's nodes, or no_node
  std::unordered_map<uint32_t, uint32_t> wrapper_of_;  // native object to its coupled wrapper
  std::unordered_map<uint32_t, uint32_t> kept_by_;     // native object to the wrapper that it keeps alive
  std::unordered_set<size_t> taken_;  // references that the collector clears from surviving wrappers; borrowed ones
  Buffer<EdgeKind> kinds_;            // of each reference
  Buffer<uint8_t> is_collectable_, has_coupled_;
  Buffer<int64_t> count_, visible_, known_;
};

// Returns whether a wrapper only borrows its native object, which took the wrapper over (PyTorch up to 2.9).
bool is_borrowed(const Graph& graph, NodeId wrapper, NodeId native);

// Returns whether the collector tracks this object.
inline bool is_collectable(const Graph& graph, NodeId node) {
  return graph.is_tracked(node) && graph.type_of(node).kind == NodeKind::python;
}

}  // namespace gradlife::heap
