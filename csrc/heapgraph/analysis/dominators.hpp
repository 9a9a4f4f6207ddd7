// Dominators, and the bytes that would be freed with each node.
#pragma once

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// The dominator tree of the nodes that the process's root reaches.
struct Dominators {
  Buffer<NodeId> parents;     // immediate dominator by node; no_node if no root reaches it
  Buffer<uint64_t> retained;  // by node: its own bytes and those of all nodes it dominates
  size_t bytes() const { return parents.bytes() + retained.bytes(); }
};
// Needs sizes. Semi-NCA: https://doi.org/10.1145/1131342 and Georgiadis' thesis, section 2.4.
Dominators find_dominators(const Graph& graph);

}  // namespace gradlife::heap
