#include "heapgraph/collector.hpp"

#include <algorithm>

namespace gradlife::heap {
namespace {

constexpr size_t most_legs = 16;

bool is_collectable(const Graph& graph, NodeId node) {
  return graph.is_tracked(node) && graph.type_of(node).kind == NodeKind::python;
}

bool sees(const Graph& graph, NodeId referrer, NodeId node) {
  if (!is_collectable(graph, referrer)) return false;
  const Row row = graph.visible_of(referrer);
  return std::find(row.begin(), row.end(), node) != row.end();
}

int64_t seen_references(const Graph& graph, NodeId node) {
  int64_t count = 0;
  NodeId previous = no_node;
  for (NodeId referrer : graph.referrers.of(node)) {
    if (referrer == previous || !is_collectable(graph, referrer)) continue;  // they come sorted: one look at each
    previous = referrer;
    for (NodeId target : graph.visible_of(referrer)) count += target == node ? 1 : 0;
  }
  return count;
}

std::vector<NodeId> unseen_referrers(const Graph& graph, NodeId node) {
  std::vector<NodeId> found;
  for (NodeId referrer : graph.referrers.of(node)) {
    if (!found.empty() && found.back() == referrer) continue;
    const Row all = graph.references.of(referrer);
    const Row seen = graph.visible_of(referrer);
    for (const NodeId* at = seen.last; at != all.last; ++at)
      if (*at == node) {
        found.push_back(referrer);
        break;
      }
  }
  return found;
}

}  // namespace

const char* lifetime_name(Lifetime lifetime) {
  static constexpr const char* names[] = {"held", "gc", "never"};
  return names[static_cast<size_t>(lifetime)];
}

// Backwards from the object along the references that the collector sees: it frees the object unless it finds somewhere
// on the way a count that these do not explain.
Fate decide_fate(const Graph& graph, const PathTree& paths, NodeId node, const RefCount& count) {
  Fate fate;
  if (paths.is_reached(node)) return fate;
  fate.lifetime = Lifetime::gc;
  Buffer<uint8_t> is_found;
  is_found.assign_zero(graph.size());
  Buffer<NodeId> found;
  found.push_back(node);
  is_found[node] = 1;
  for (size_t next = 0; next < found.size(); ++next) {
    const NodeId at = found[next];
    const int64_t unseen = is_collectable(graph, at) ? count(at) - seen_references(graph, at) : 0;
    if (unseen > 0) {
      fate.lifetime = Lifetime::never;
      if (fate.legs.size() < most_legs) fate.legs.push_back({at, unseen, unseen_referrers(graph, at)});
    }
    for (NodeId referrer : graph.referrers.of(at)) {
      if (is_found[referrer] != 0 || !sees(graph, referrer, at)) continue;
      is_found[referrer] = 1;
      found.push_back(referrer);
    }
  }
  return fate;
}

}  // namespace gradlife::heap
