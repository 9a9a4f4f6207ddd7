#include "heapgraph/frozen/birth_dates.hpp"

#include <algorithm>

namespace gradlife::heap {
namespace {

// What so many objects refer to is shared, and as old as it seems.
constexpr size_t most_referrers = 256;

bool is_exact(const Graph& graph, NodeId node) {
  return graph.type_of(node).kind == NodeKind::root || graph.birth_of(node) != Graph::unknown_birth ||
         graph.sequence_number_of(node) != SequenceNumber::none;
}

int32_t oldest_holder(const Graph& graph, NodeId node, const Buffer<int32_t>& rounds) {
  const Row holders = graph.referrers.of(node);
  if (holders.size() == 0 || holders.size() > most_referrers) return before_all_rounds;
  int32_t oldest = INT32_MAX;
  for (NodeId holder : holders)
    if (holder != node) oldest = std::min(oldest, rounds[holder]);
  return oldest != INT32_MAX ? oldest : before_all_rounds;
}

}  // namespace

void date_by_holders(Graph& graph, Buffer<int32_t>& rounds) {
  graph.build_referrers();
  Buffer<NodeId> waiting;
  for (size_t i = 0; i < graph.size(); ++i)
    if (rounds[i] != before_all_rounds) waiting.push_back(static_cast<NodeId>(i));
  for (size_t i = 0; i < waiting.size(); ++i) {
    for (NodeId node : graph.references.of(waiting[i])) {
      if (is_exact(graph, node)) continue;
      const int32_t date = oldest_holder(graph, node, rounds);
      if (date <= rounds[node]) continue;
      rounds[node] = date;
      waiting.push_back(node);
    }
  }
}

}  // namespace gradlife::heap
