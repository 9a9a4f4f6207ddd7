// The nodes that a report on what is new can name: few of a large heap.
#pragma once

#include "heapgraph/frozen/frozen_graph.hpp"
#include "heapgraph/graph/node_set.hpp"

namespace gradlife::heap {

// Returns the objects that the earlier graph of the same process does not have, containers that are longer since, all
// native, large and unreachable ones, what refers to them, and the paths to all of these. Needs sizes.
NodeSet recent_nodes(FrozenGraph& frozen, const Graph& earlier);

}  // namespace gradlife::heap
