// Paths from the roots: which reference led to each node first, with steps that people can act on preferred.
#pragma once

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// Every node's predecessor on its cheapest path from the process's root. One pass answers for all targets.
class PathTree {
 public:
  // `target`: stop as soon as its path is known; no other node's is then.
  explicit PathTree(const Graph& graph, NodeId target = no_node);
  bool is_reached(NodeId node) const { return parents_[node] != no_node; }
  NodeId parent(NodeId node) const { return parents_[node]; }  // of the root: itself
  // From the first root below the process down to the node itself; empty where no root reaches it.
  std::vector<NodeId> path_to(NodeId node) const;
  // True if the path reaches its target by this reference; `edge`: its index among all references.
  bool arrives_by(size_t edge) const { return (arrivals_[edge / bits] >> edge % bits & 1) != 0; }
  // True if one of the references [first, last) is such.
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
  Buffer<uint64_t> arrivals_;  // a bit for each reference
  size_t reached_ = 0;
};

// The other of a wrapper and its native object, which hold each other and are one thing: that alone is no cycle. Or
// no_node.
NodeId other_half(const Graph& graph, NodeId node);

// A shortest cycle through a node, starting with it; empty where it is in none. `limit`: nodes looked at, at most.
std::vector<NodeId> shortest_cycle(const Graph& graph, NodeId node, size_t limit = SIZE_MAX);

}  // namespace gradlife::heap
