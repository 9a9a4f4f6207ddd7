// Writes a snapshot file.
#pragma once

#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

// Writes to an open descriptor, from its position on. Error: std::system_error.
void write_graph(int descriptor, const FrozenGraph& frozen, const std::string& notes, bool with_labels);

}  // namespace gradlife::heap
