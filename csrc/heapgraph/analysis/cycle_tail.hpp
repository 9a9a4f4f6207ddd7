// The tail of a cycle: the path from the cycle that keeps an object alive to the object outside it.
#pragma once

#include "heapgraph/graph/search.hpp"

namespace gradlife::heap {

struct CycleTail {
  std::vector<NodeId> cycle;  // its first node is the one that the path begins at
  std::vector<NodeId> path;   // from that node to the object itself
};

// The nearest cycle that leads to a node which no root reaches; empty where none does. Needs the graph's referrers.
// `most`: nodes looked at, at most.
CycleTail cycle_above(const Graph& graph, const PathTree& paths, NodeId node, size_t most = size_t{1} << 20);

}  // namespace gradlife::heap
