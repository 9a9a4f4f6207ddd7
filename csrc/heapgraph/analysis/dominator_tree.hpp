// The dominator tree from above: what each node alone keeps, most first.
#pragma once

#include "heapgraph/analysis/dominators.hpp"

namespace gradlife::heap {

class Dominated {
 public:
  // Some 30 ns a node, and 8 bytes for as long as it lives.
  Dominated(const Graph& graph, const Dominators& dominators);
  // The node's children in the dominator tree, by retained size.
  Row of(NodeId node) const { return edges_.of(node); }
  // The unreachable nodes, the largest first.
  Row unreached() const { return edges_.of(static_cast<NodeId>(edges_.rows() - 1)); }
  size_t bytes() const { return edges_.bytes(); }

 private:
  Edges edges_;  // one row more than there are nodes
};

}  // namespace gradlife::heap
