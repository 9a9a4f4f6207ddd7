// Strongly connected components: the cycles of the graph.
#pragma once

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// The strongly connected component of each node; `none` for nodes in no cycle. A node that only refers to itself is a
// component.
struct Components {
  static constexpr uint32_t none = UINT32_MAX;
  Buffer<uint32_t> of_node;
  Buffer<uint32_t> sizes;  // nodes of each component
};
Components find_components(const Edges& references);
// Finds components among the nodes that are reachable from these starts without entering a border node.
Components find_components(const Edges& references, const Buffer<NodeId>& starts, const Buffer<NodeId>& borders);

}  // namespace gradlife::heap
