// The part of a graph that no root reaches, and how much of each object's reference count its references explain.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "heapgraph/graph/graph.hpp"
#include "heapgraph/graph/search.hpp"

namespace gradlife::heap {

// Objects are numbered from 0 here, in the order of the graph. A wrapper's count of the other owners of its native
// object stands as one reference of each of these owners to the wrapper; the native object itself does not hold it. A
// reference that the collector does not see is left out where it sees as many others as the count says: then another
// object's traverse shows it as its own, and its clear will see to it.
class Garbage {
 public:
  using RefCount = std::function<int64_t(NodeId)>;
  Garbage(const Graph& graph, const PathTree& paths, const RefCount& count);

  size_t size() const { return nodes.size(); }
  // The collector looks at it, and at what its traverse shows.
  bool is_collectable(uint32_t i) const { return is_collectable_[i] != 0; }
  // References that no traverse of a collectable object shows; of a native object all.
  int64_t unseen(uint32_t i) const { return count_[i] - seen_[i]; }
  // The unaccounted references among these.
  int64_t unexplained(uint32_t i) const { return unseen(i) - known_[i] - (has_coupled_[i] != 0 ? 1 : 0); }
  // The wrapper that lives as long as a native object has other owners than it; no_node: none does.
  uint32_t wrapper_kept_by(uint32_t native) const;

  // coupled: of all owners of a native object together its wrapper counts one. keeping: counted nowhere.
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
  Buffer<uint32_t> index_;                             // of each of the graph's nodes, or no_node
  std::unordered_map<uint32_t, uint32_t> wrapper_of_;  // of coupled native objects
  std::unordered_map<uint32_t, uint32_t> kept_by_;     // by native objects: their wrappers
  std::unordered_set<size_t> taken_;                   // of the graph's references
  Buffer<Sort> sorts_;                                 // of each reference
  Buffer<uint8_t> is_collectable_, has_coupled_;
  Buffer<int64_t> count_, seen_, known_;
};

// Returns whether the collector tracks this object.
inline bool is_collectable(const Graph& graph, NodeId node) {
  return graph.is_tracked(node) && graph.type_of(node).kind == NodeKind::python;
}

}  // namespace gradlife::heap
