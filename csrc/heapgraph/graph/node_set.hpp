// A set of nodes: one bit each.
#pragma once

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

class NodeSet {
 public:
  explicit NodeSet(size_t nodes) { words_.assign_zero(nodes / bits + 1); }
  bool has(NodeId node) const { return (words_[node / bits] & mask(node)) != 0; }
  void add(NodeId node) { words_[node / bits] |= mask(node); }

 private:
  static constexpr size_t bits = 64;
  static uint64_t mask(NodeId node) { return uint64_t{1} << node % bits; }
  Buffer<uint64_t> words_;
};

}  // namespace gradlife::heap
