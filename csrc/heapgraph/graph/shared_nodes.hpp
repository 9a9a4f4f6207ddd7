// The set of nodes with more than one referrer: one bit each, so that many fit into the cache.
#pragma once

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

class SharedNodes {
 public:
  // Linear in the number of references, some 3 ms per million.
  explicit SharedNodes(const Graph& graph) {
    Buffer<uint64_t> once;
    once.assign_zero(graph.size() / bits + 1);
    shared_.assign_zero(graph.size() / bits + 1);
    for (const NodeId target : graph.references.targets) {
      shared_[target / bits] |= once[target / bits] & mask(target);
      once[target / bits] |= mask(target);
    }
  }
  bool has(NodeId node) const { return (shared_[node / bits] & mask(node)) != 0; }
  void remove(NodeId node) { shared_[node / bits] &= ~mask(node); }

 private:
  static constexpr size_t bits = 64;
  static uint64_t mask(NodeId node) { return uint64_t{1} << node % bits; }
  Buffer<uint64_t> shared_;
};

}  // namespace gradlife::heap
