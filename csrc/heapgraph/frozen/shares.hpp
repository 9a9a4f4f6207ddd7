// The share of a graph that belongs to each of some nodes: reached through it, or kept alive by it alone.
#pragma once

#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

struct Share {
  uint64_t objects = 0;  // Python objects
  uint64_t tensors = 0;  // C++ objects, including those without a wrapper
  uint64_t grad_nodes = 0;
  uint64_t storages = 0;
  uint64_t storage_bytes = 0;
  uint64_t bytes = 0;  // of all objects
};

// Each node counts for the nearest of `holders` at or above it on its path from a root; nodes without one do not count.
std::vector<Share> shares_by_path(FrozenGraph& frozen, const std::vector<NodeId>& holders);
// The same with dominators: what would be freed with each holder. A holder below another is not counted in the upper
// one.
std::vector<Share> shares_by_dominator(FrozenGraph& frozen, const std::vector<NodeId>& holders);

}  // namespace gradlife::heap
