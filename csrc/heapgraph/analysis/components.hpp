// Strongly connected parts: the cycles of the graph.
#pragma once

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// The strongly connected component of each node; `none` for nodes in no cycle. A node that refers to itself alone is a
// part.
struct Components {
  static constexpr uint32_t none = UINT32_MAX;
  Buffer<uint32_t> of_node;
  Buffer<uint32_t> sizes;  // nodes of each part
};
Components find_components(const Edges& references);
// Components among the nodes reachable from these without a step to a border.
Components find_components(const Edges& references, const Buffer<NodeId>& starts, const Buffer<NodeId>& borders);

}  // namespace gradlife::heap
