// A number for some of the nodes, few or many: pairs sorted by node, in memory as in files.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heapgraph/graph/buffer.hpp"

namespace gradlife::heap {

struct NodeNumber {
  uint32_t node;
  uint32_t number;
};
static_assert(sizeof(NodeNumber) == 8, "as it stands in files");

class NodeNumbers {
 public:
  // Adds a number. The node must not precede an existing one; the number of the last node is replaced.
  void add(uint32_t node, uint32_t number) {
    if (!pairs_.empty() && pairs_.back().node == node) pairs_.pop_back();
    pairs_.push_back({node, number});
  }
  // Returns nullptr if the node has no number.
  const uint32_t* find(uint32_t node) const {
    const auto is_before = [](const NodeNumber& pair, uint32_t wanted) { return pair.node < wanted; };
    const NodeNumber* found = std::lower_bound(pairs_.begin(), pairs_.end(), node, is_before);
    return found != pairs_.end() && found->node == node ? &found->number : nullptr;
  }
  // The same for the node with the latest number; nullptr for any other.
  const uint32_t* last_of(uint32_t node) const {
    return !pairs_.empty() && pairs_.end()[-1].node == node ? &pairs_.end()[-1].number : nullptr;
  }
  const NodeNumber* begin() const { return pairs_.begin(); }
  const NodeNumber* end() const { return pairs_.end(); }
  const Buffer<NodeNumber>& pairs() const { return pairs_; }
  size_t bytes() const { return pairs_.bytes(); }

 private:
  Buffer<NodeNumber> pairs_;
};

}  // namespace gradlife::heap
