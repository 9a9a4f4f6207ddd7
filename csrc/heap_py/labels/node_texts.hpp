// The labels and descriptions of all nodes of a graph.
#pragma once

#include "heap_py/labels/description.hpp"
#include "heapgraph/frozen/names.hpp"

namespace gradlife::heap {

// Adds descriptions for all nodes, while their objects live. Most are shared by several nodes, and built once.
void add_descriptions(const Graph& graph, const Describer& describer, Words& words);

}  // namespace gradlife::heap
