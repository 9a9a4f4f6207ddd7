#include "heapgraph/analysis/dominator_tree.hpp"

#include <algorithm>
#include <tuple>

namespace gradlife::heap {

DominatorTree::DominatorTree(const Graph& graph, const Dominators& dominators) {
  const size_t count = graph.size();
  const auto row_of = [&](size_t node) {
    return dominators.parents[node] != no_node ? size_t{dominators.parents[node]} : count;
  };
  edges_.first.assign_zero(count + 2);
  edges_.targets.resize(count - 1);
  for (size_t node = 1; node < count; ++node) ++edges_.first[row_of(node) + 1];
  for (size_t row = 1; row < edges_.first.size(); ++row) edges_.first[row] += edges_.first[row - 1];
  Buffer<uint32_t> next;
  next.resize(count + 1);
  std::copy(edges_.first.begin(), edges_.first.end() - 1, next.begin());
  for (size_t node = 1; node < count; ++node) edges_.targets[next[row_of(node)]++] = static_cast<NodeId>(node);
  const auto before = [&](NodeId a, NodeId b) {
    return std::make_tuple(dominators.retained[b], graph.size_of(b), a) <
           std::make_tuple(dominators.retained[a], graph.size_of(a), b);
  };
  for (size_t row = 0; row <= count; ++row)
    std::sort(edges_.targets.begin() + edges_.first[row], edges_.targets.begin() + edges_.first[row + 1], before);
}

}  // namespace gradlife::heap
