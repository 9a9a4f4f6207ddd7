// Nodes by what they are called: their type, their description, or the name of a reference to them.
#pragma once

#include <string>

#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

// Nodes with the text in one of these, ASCII letters in either case; those that retain most first. Linear in the
// number of nodes and of named references.
std::vector<NodeId> search_texts(FrozenGraph& frozen, const std::string& wanted);

}  // namespace gradlife::heap
