// Paths from the roots: the reference that reached each node first, preferring steps that people can act on.
#pragma once

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// Every node's predecessor on its cheapest path from the process's root. One pass answers for all targets.
class PathTree {
 public:
  // `target`: stop once its path is known; other paths are not known then.
  explicit PathTree(const Graph& graph, NodeId target = no_node);
  bool is_reached(NodeId node) const { return parents_[node] != no_node; }
  NodeId parent(NodeId node) const { return parents_[node]; }  // of the root: itself
  // Returns the path from the first root below the process to the node; empty if no root reaches it.
  std::vector<NodeId> path_to(NodeId node) const;
  // Whether the path reaches its target by this reference; `edge`: its index among all references.
  bool arrives_by(size_t edge) const { return (arrivals_[edge / bits] >> edge % bits & 1) != 0; }
  // Whether `arrives_by` is true for one of the references [first, last).
  bool has_arrival(size_t first, size_t last) const {
    for (; first < last; first = (first / bits + 1) * bits) {
      const size_t behind = (first / bits + 1) * bits;
      const uint64_t found = arrivals_[first / bits] >> first % bits;
      if (last < behind ? (found & ((uint64_t{1} << (last - first)) - 1)) != 0 : found != 0) return true;
    }
    return false;
  }
  size_t reached() const { return reached_; }
  size_t bytes() const { return parents_.bytes() + arrivals_.bytes(); }

 private:
  static constexpr size_t bits = 64;
  void look_ahead(const Graph& graph, const Buffer<NodeId>& waiting, size_t at) const;

  Buffer<NodeId> parents_;
  Buffer<uint64_t> arrivals_;  // one bit per reference
  size_t reached_ = 0;
};

// Returns the wrapper of a native object or the native object of a wrapper if they hold each other: they count as one
// object, not as a cycle. Else no_node.
NodeId other_half(const Graph& graph, NodeId node);

// Returns a shortest cycle that starts with the node; empty if there is none. `limit`: most nodes to visit.
std::vector<NodeId> shortest_cycle(const Graph& graph, NodeId node, size_t limit = SIZE_MAX);

}  // namespace gradlife::heap
