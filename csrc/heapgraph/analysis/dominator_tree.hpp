// The dominator tree from its root down: the nodes that each node alone keeps, largest first.
#pragma once

#include "heapgraph/analysis/dominators.hpp"

namespace gradlife::heap {

class DominatorTree {
 public:
  // Takes some 30 ns and 8 bytes per node.
  DominatorTree(const Graph& graph, const Dominators& dominators);
  // The node's children in the dominator tree, by retained size.
  Row of(NodeId node) const { return edges_.of(node); }
  // The unreachable nodes, the largest first.
  Row unreached() const { return edges_.of(static_cast<NodeId>(edges_.rows() - 1)); }
  size_t bytes() const { return edges_.bytes(); }

 private:
  Edges edges_;  // one row more than there are nodes
};

}  // namespace gradlife::heap
