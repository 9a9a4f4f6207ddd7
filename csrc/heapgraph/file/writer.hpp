// Writes a snapshot file.
#pragma once

#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

// To an open descriptor, from its place on. Error: std::system_error.
void write_graph(int descriptor, const FrozenGraph& frozen, const std::string& notes, bool with_labels);

}  // namespace gradlife::heap
