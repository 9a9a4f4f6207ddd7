// Dominators, and from them how much would be freed with each node.
#pragma once

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// The dominator tree below the process's root, over the nodes that the root reaches.
struct Dominators {
  Buffer<NodeId> parents;     // immediate dominator by node; no_node where no root reaches it
  Buffer<uint64_t> retained;  // bytes by node: its own and those of all that it dominates
  size_t bytes() const { return parents.bytes() + retained.bytes(); }
};
// Needs sizes. Semi-NCA: https://doi.org/10.1145/1131342 and Georgiadis' thesis, section 2.4.
Dominators find_dominators(const Graph& graph);

}  // namespace gradlife::heap
