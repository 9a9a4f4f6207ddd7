// Shallow sizes of a graph's nodes, read while everything in it is still alive.
#pragma once

#include "heap_py/interpreter/provider.hpp"

namespace gradlife::heap {

void measure_sizes(Graph& graph, const std::vector<Provider*>& providers);

}  // namespace gradlife::heap
