// The tail of a cycle: the path from the cycle that keeps an object alive to the object outside it.
#pragma once

#include "heapgraph/graph/search.hpp"

namespace gradlife::heap {

struct CycleTail {
  std::vector<NodeId> cycle;  // begins with the node where the path begins
  std::vector<NodeId> path;   // from that node to the object
};

// Returns the nearest cycle that leads to an unreachable node; empty if there is none. Needs the graph's referrers.
// `most`: limit of visited nodes.
CycleTail cycle_above(const Graph& graph, const PathTree& paths, NodeId node, size_t most = size_t{1} << 20);

}  // namespace gradlife::heap
