#include "heapgraph/frozen/shares.hpp"

namespace gradlife::heap {
namespace {

constexpr uint32_t nobody = UINT32_MAX, unknown = UINT32_MAX - 1;

// For each node, the index in `holders` of the nearest holder at or above it in a tree. `above`: the parent; of the
// root the root itself, of a node outside the tree `no_node`.
template <class Above>
Buffer<uint32_t> nearest_holders(size_t size, const std::vector<NodeId>& holders, const Above& above) {
  Buffer<uint32_t> nearest(size, unknown);
  for (size_t i = 0; i < holders.size(); ++i) nearest[holders[i]] = static_cast<uint32_t>(i);
  std::vector<NodeId> climbed;
  for (size_t i = 0; i < size; ++i) {
    NodeId node = static_cast<NodeId>(i);
    while (nearest[node] == unknown) {
      climbed.push_back(node);
      const NodeId next = above(node);
      if (next == no_node || next == node) nearest[node] = nobody;
      if (nearest[node] == unknown) node = next;
    }
    for (NodeId one : climbed) nearest[one] = nearest[node];
    climbed.clear();
  }
  return nearest;
}

void add(Share& share, const Graph& graph, NodeId node) {
  const NodeKind kind = graph.type_of(node).kind;
  const uint64_t bytes = graph.sizes.empty() ? 0 : graph.size_of(node);
  share.objects += kind == NodeKind::python ? 1 : 0;
  share.tensors += kind == NodeKind::tensor ? 1 : 0;
  share.grad_nodes += kind == NodeKind::grad_node ? 1 : 0;
  share.storages += kind == NodeKind::storage ? 1 : 0;
  share.storage_bytes += kind == NodeKind::storage ? bytes : 0;
  share.bytes += bytes;
}

std::vector<Share> summed(const Graph& graph, const Buffer<uint32_t>& nearest, size_t count) {
  std::vector<Share> shares(count);
  for (size_t node = 0; node < graph.size(); ++node)
    if (nearest[node] != nobody) add(shares[nearest[node]], graph, static_cast<NodeId>(node));
  return shares;
}

}  // namespace

std::vector<Share> shares_by_path(FrozenGraph& frozen, const std::vector<NodeId>& holders) {
  const PathTree& paths = frozen.need_paths();
  const size_t size = frozen.graph.size();
  const auto above = [&](NodeId node) { return paths.parent(node); };
  return summed(frozen.graph, nearest_holders(size, holders, above), holders.size());
}

std::vector<Share> shares_by_dominator(FrozenGraph& frozen, const std::vector<NodeId>& holders) {
  const Dominators& dominators = frozen.need_dominators();
  const size_t size = frozen.graph.size();
  const auto above = [&](NodeId node) { return dominators.parents[node]; };
  return summed(frozen.graph, nearest_holders(size, holders, above), holders.size());
}

}  // namespace gradlife::heap
