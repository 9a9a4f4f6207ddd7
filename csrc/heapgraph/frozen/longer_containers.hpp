// Containers that several graphs of one process have, longer in each.
#pragma once

#include <vector>

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

struct LongerContainer {
  NodeId node;  // of the last graph
  // By graph: items that are not None, and bytes of the container and of the small objects that only it holds.
  std::vector<uint64_t> lengths, bytes;
};

// Graphs are in the order in which they were taken, and have sizes.
std::vector<LongerContainer> longer_containers(const std::vector<const Graph*>& graphs);

}  // namespace gradlife::heap
