#include "heapgraph/frozen/longer_containers.hpp"

#include <algorithm>
#include <unordered_map>

namespace gradlife::heap {
namespace {

uint64_t number_of(const NodeNumbers& numbers, NodeId node) {
  const uint32_t* found = numbers.find(node);
  return found != nullptr ? *found : 0;
}

uint64_t length_of(const Graph& graph, NodeId node) {
  return number_of(graph.lengths, node) - number_of(graph.unset, node);
}

bool is_same(const Graph& last, NodeId node, const Graph& earlier, NodeId there) {
  return there != no_node && last.type_of(node).name == earlier.type_of(there).name &&
         last.may_be(node, earlier, there);
}

// Keeps the containers that the earlier graph has, and that are longer since.
void keep_longer(std::vector<LongerContainer>& found, const Graph& last, const Graph& earlier) {
  std::unordered_map<Address, NodeId> nodes;
  for (const LongerContainer& row : found) nodes[last.addresses[row.node]] = no_node;
  earlier.find_all(nodes);
  const auto is_no_longer = [&](LongerContainer& row) {
    const NodeId there = nodes[last.addresses[row.node]];
    if (!is_same(last, row.node, earlier, there)) return true;
    row.lengths.push_back(length_of(earlier, there));
    row.bytes.push_back(earlier.size_with_atoms(there));
    return row.lengths.back() >= row.lengths[row.lengths.size() - 2];
  };
  found.erase(std::remove_if(found.begin(), found.end(), is_no_longer), found.end());
}

}  // namespace

std::vector<LongerContainer> longer_containers(const std::vector<const Graph*>& graphs) {
  std::vector<LongerContainer> found;
  if (graphs.empty()) return found;
  const Graph& last = *graphs.back();
  for (const NodeNumber& entry : last.lengths)
    found.push_back({entry.node, {length_of(last, entry.node)}, {last.size_with_atoms(entry.node)}});
  for (size_t i = graphs.size() - 1; i-- > 0;) keep_longer(found, last, *graphs[i]);
  for (LongerContainer& row : found) {
    std::reverse(row.lengths.begin(), row.lengths.end());
    std::reverse(row.bytes.begin(), row.bytes.end());
  }
  return found;
}

}  // namespace gradlife::heap
