#include "heapgraph/analysis/cycle_tail.hpp"

#include <algorithm>
#include <unordered_map>

namespace gradlife::heap {
namespace {

// All unreachable nodes that lead to one node, nearest first.
class Above {
 public:
  Above(const Graph& graph, const PathTree& paths, NodeId node, size_t most) : graph_(graph) {
    order_.push_back(node);
    distance_[node] = 0;
    for (size_t i = 0; i < order_.size() && order_.size() < most; ++i)
      for (NodeId referrer : graph.referrers.of(order_[i]))
        if (!paths.is_reached(referrer) && distance_.emplace(referrer, distance_.at(order_[i]) + 1).second)
          order_.push_back(referrer);
    peel();
    prefer_what_can_be_acted_on();
  }
  const std::vector<NodeId>& order() const { return order_; }
  // Whether the node is in a cycle, or between two cycles.
  bool is_core(NodeId node) const { return core_.count(node) != 0; }
  // Returns a shortest path; of several, the first in the order of each object's references, as a program writes it.
  std::vector<NodeId> way_from(NodeId node) const {
    std::vector<NodeId> path = {node};
    while (path.back() != order_.front()) {
      const Row targets = graph_.references.of(path.back());
      const size_t nearer = distance_.at(path.back()) - 1;
      path.push_back(*std::find_if(targets.begin(), targets.end(), [&](NodeId target) {
        const auto found = distance_.find(target);
        return found != distance_.end() && found->second == nearer;
      }));
    }
    return path;
  }

 private:
  // Sorts equally near nodes by the cost of a step, cheapest first.
  void prefer_what_can_be_acted_on() {
    const auto cost = [&](NodeId at) { return graph_.type_of(at).step_cost; };
    for (auto first = order_.begin(), last = first; first != order_.end(); first = last) {
      const size_t distance = distance_.at(*first);
      while (last != order_.end() && distance_.at(*last) == distance) ++last;
      std::stable_sort(first, last, [&](NodeId a, NodeId b) { return cost(a) < cost(b); });
    }
  }
  // Removes nodes with no predecessor left, and nodes with no successor left: they are in no cycle.
  void peel() {
    for (NodeId node : order_) core_[node] = 0;
    peel_by([this](NodeId node) { return graph_.referrers.of(node); },
            [this](NodeId node) { return graph_.references.of(node); });
    peel_by([this](NodeId node) { return graph_.references.of(node); },
            [this](NodeId node) { return graph_.referrers.of(node); });
  }
  template <class Before, class After>
  void peel_by(Before before, After after) {
    std::vector<NodeId> loose;
    for (auto& [node, count] : core_) {
      count = 0;
      for (NodeId other : before(node)) count += core_.count(other);
      if (count == 0) loose.push_back(node);
    }
    while (!loose.empty()) {
      const NodeId node = loose.back();
      loose.pop_back();
      core_.erase(node);
      for (NodeId other : after(node)) {
        const auto found = core_.find(other);
        if (found != core_.end() && --found->second == 0) loose.push_back(other);
      }
    }
  }

  const Graph& graph_;
  std::vector<NodeId> order_;
  std::unordered_map<NodeId, size_t> distance_;  // to the node
  std::unordered_map<NodeId, size_t> core_;
};

// Returns a shortest cycle in the core through a node or its other half.
std::vector<NodeId> cycle_in(const Graph& graph, const Above& above, NodeId start) {
  const NodeId half = other_half(graph, start);
  const auto is_start = [&](NodeId at) { return at == start || (half != no_node && at == half); };
  std::unordered_map<NodeId, NodeId> from;
  std::vector<NodeId> queue = {start};
  if (half != no_node) {
    queue.push_back(half);
    from.emplace(half, start);
  }
  for (size_t i = 0; i < queue.size(); ++i) {
    const NodeId at = queue[i];
    for (NodeId target : graph.references.of(at)) {
      if (is_start(target) && (!is_start(at) || (at == start && target == start))) {
        std::vector<NodeId> cycle = {at};
        while (cycle.back() != start) cycle.push_back(from.at(cycle.back()));
        std::reverse(cycle.begin(), cycle.end());
        if (target != start) cycle.push_back(target);
        return cycle;
      }
      if (!is_start(target) && above.is_core(target) && from.emplace(target, at).second) queue.push_back(target);
    }
  }
  return {};
}

// A wrapper and its native object refer to each other, but count as one object. Returns the wrapper of such a cycle;
// no_node for other cycles.
NodeId wrapper_of_two_halves(const Graph& graph, const std::vector<NodeId>& cycle) {
  const auto is_python = [&](NodeId node) { return graph.type_of(node).kind == NodeKind::python; };
  if (cycle.size() != 2 || is_python(cycle[0]) == is_python(cycle[1])) return no_node;
  return is_python(cycle[0]) ? cycle[0] : cycle[1];
}

}  // namespace

CycleTail cycle_above(const Graph& graph, const PathTree& paths, NodeId node, size_t most) {
  if (paths.is_reached(node)) return {};
  const Above above(graph, paths, node, most);
  constexpr size_t max_starts = 4096;  // pairs of halves that are in no other cycle
  size_t starts = 0;
  for (NodeId at : above.order()) {
    if (!above.is_core(at)) continue;
    if (++starts > max_starts) break;
    std::vector<NodeId> cycle = cycle_in(graph, above, at);
    const NodeId wrapper = wrapper_of_two_halves(graph, cycle);
    if (wrapper != no_node) cycle = shortest_cycle(graph, wrapper);
    if (!cycle.empty()) return {std::move(cycle), above.way_from(at)};
  }
  return {};
}

}  // namespace gradlife::heap
