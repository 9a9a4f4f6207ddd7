// The dominator tree from the root down: the nodes that only each node keeps, largest first.
#pragma once

#include "heapgraph/analysis/dominators.hpp"

namespace gradlife::heap {

class DominatorTree {
 public:
  // Takes some 30 ns and 8 bytes per node.
  DominatorTree(const Graph& graph, const Dominators& dominators);
  // The node's children in the dominator tree, by retained size.
  Row of(NodeId node) const { return edges_.of(node); }
  // The unreachable nodes, largest first.
  Row unreached() const { return edges_.of(static_cast<NodeId>(edges_.rows() - 1)); }
  size_t bytes() const { return edges_.bytes(); }

 private:
  Edges edges_;  // one row more than there are nodes
};

}  // namespace gradlife::heap
