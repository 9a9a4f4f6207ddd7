// When objects were born that nothing shows the birth of: C++ objects, arrays, text.
#pragma once

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// By node: the number of the round in which it was born, or this.
constexpr int32_t before_all_rounds = -1;

// Raises the dates of objects that only later ones refer to: they stand at addresses where others of their type were
// before. The dates of what the collector tracks, and of grad nodes with a number, are exact. Builds the referrers.
void date_by_holders(Graph& graph, Buffer<int32_t>& rounds);

}  // namespace gradlife::heap
