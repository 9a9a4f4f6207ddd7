// How much of a graph belongs to each of some nodes: what comes by them on its path, or what they alone keep alive.
#pragma once

#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

struct Share {
  uint64_t objects = 0;  // Python's
  uint64_t tensors = 0;  // C++ objects, with those that have no wrapper
  uint64_t grad_nodes = 0;
  uint64_t storages = 0;
  uint64_t storage_bytes = 0;
  uint64_t bytes = 0;  // of everything
};

// Each node counts for the nearest of `holders` at or above it, on its path from a root; those above none do not count.
std::vector<Share> shares_by_path(FrozenGraph& frozen, const std::vector<NodeId>& holders);
// The same among dominators: what would be freed with each holder. A holder below another is not counted in that.
std::vector<Share> shares_by_dominator(FrozenGraph& frozen, const std::vector<NodeId>& holders);

}  // namespace gradlife::heap
