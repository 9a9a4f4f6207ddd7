// The unreachable part of a graph, and how much of each object's reference count its references explain.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "heapgraph/graph/graph.hpp"
#include "heapgraph/graph/search.hpp"

namespace gradlife::heap {

// Objects are numbered from 0 in the order of the graph. A wrapper's count of the other owners of its native object is
// represented as one reference from each of these owners to the wrapper; the native object itself does not hold it. A
// reference that the collector does not see is left out if it sees as many others as the count says: then another
// object's traverse shows it as its own, and its clear will drop it.
class Garbage {
 public:
  using RefCount = std::function<int64_t(NodeId)>;
  Garbage(const Graph& graph, const PathTree& paths, const RefCount& count);

  size_t size() const { return nodes.size(); }
  // Whether the collector visits it and what its traverse shows.
  bool is_collectable(uint32_t i) const { return is_collectable_[i] != 0; }
  // Counts references that no traverse of a collectable object shows; for a native object, all.
  int64_t unseen(uint32_t i) const { return count_[i] - seen_[i]; }
  // Counts the unaccounted references among these.
  int64_t unexplained(uint32_t i) const { return unseen(i) - known_[i] - (has_coupled_[i] != 0 ? 1 : 0); }
  // Returns the wrapper that lives as long as a native object has other owners; no_node if there is none.
  uint32_t wrapper_kept_by(uint32_t native) const;

  // coupled: the wrapper's count has one reference for all owners of its native object. keeping: not counted anywhere.
  enum class Sort : uint8_t { hidden, coupled, seen, keeping };
  Sort sort(size_t edge) const { return sorts_[edge]; }
  uint32_t index_of(NodeId node) const { return node != no_node ? index_[node] : no_node; }
  const Graph& graph() const { return graph_; }

  Buffer<NodeId> nodes;
  Edges references;

 private:
  void find_halves();
  void add_row(uint32_t from);
  void add(uint32_t to, Sort sort);
  void find_kept_wrappers();
  void leave_out_taken();
  void add_owner(uint32_t from, uint32_t native);
  void drop_seen_elsewhere();

  const Graph& graph_;
  Buffer<uint32_t> index_;                             // by the graph's nodes; or no_node
  std::unordered_map<uint32_t, uint32_t> wrapper_of_;  // by coupled native object
  std::unordered_map<uint32_t, uint32_t> kept_by_;     // the wrappers kept by native objects
  std::unordered_set<size_t> taken_;                   // references of the graph
  Buffer<Sort> sorts_;                                 // by reference
  Buffer<uint8_t> is_collectable_, has_coupled_;
  Buffer<int64_t> count_, seen_, known_;
};

// Whether the collector tracks this object.
inline bool is_collectable(const Graph& graph, NodeId node) {
  return graph.is_tracked(node) && graph.type_of(node).kind == NodeKind::python;
}

}  // namespace gradlife::heap
