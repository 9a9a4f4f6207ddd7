// The labels and descriptions of all nodes of a graph.
#pragma once

#include "heap_py/labels/description.hpp"
#include "heapgraph/frozen/names.hpp"
#include "heapgraph/graph/node_set.hpp"

namespace gradlife::heap {

// Adds descriptions for all nodes, while their objects live. Most are shared by several nodes, and built once.
void add_descriptions(const Graph& graph, const Describer& describer, Words& words, const NodeSet* wanted);

}  // namespace gradlife::heap
