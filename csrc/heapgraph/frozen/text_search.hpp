// Search for nodes by their type, their description, or the label of a reference to them.
#pragma once

#include <string>

#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

// Returns nodes with the text in one of these, ignoring case in ASCII, largest retained size first. Linear in the
// number of nodes and of labelled references.
std::vector<NodeId> search_texts(FrozenGraph& frozen, const std::string& wanted);

}  // namespace gradlife::heap
