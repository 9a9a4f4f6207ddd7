// The labels and descriptions of all nodes of a graph.
#pragma once

#include "heap_py/labels/description.hpp"
#include "heapgraph/frozen/names.hpp"

namespace gradlife::heap {

// Descriptions for all nodes, while their objects live. Most are those of other nodes too, and put together once.
void add_descriptions(const Graph& graph, const Describer& describer, Words& words);

}  // namespace gradlife::heap
