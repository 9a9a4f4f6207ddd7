// The hooks of a node, for an object that shows them to the collector as its own.
#pragma once

#include "base/pyref.hpp"
#include "engine/graph/node.hpp"

namespace gradlife {

// Called by tp_traverse of the wrapper that may visit the node.
int visit_node_hooks(const Node& node, visitproc visit, void* arg);
void clear_node_hooks(Node& node);

}  // namespace gradlife
