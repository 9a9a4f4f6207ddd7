#include "heapgraph/graph/search.hpp"

#include <algorithm>
#include <array>

namespace gradlife::heap {
namespace {

constexpr size_t max_cost = 15;

// The waiting nodes at each distance modulo the highest step cost (Dial's queue).
class Frontier {
 public:
  void push(size_t distance, NodeId node) {
    at(distance).push_back(node);
    ++count_;
  }
  bool empty() const { return count_ == 0; }
  Buffer<NodeId>& at(size_t distance) { return buckets_[distance % buckets_.size()]; }
  void done(size_t distance) {
    count_ -= at(distance).size();
    at(distance).clear();
  }

 private:
  std::array<Buffer<NodeId>, max_cost + 1> buckets_;
  size_t count_ = 0;
};

Buffer<uint8_t> step_costs(const Graph& graph) {
  Buffer<uint8_t> costs;
  for (const TypeRow& row : graph.type_rows)
    costs.push_back(static_cast<uint8_t>(std::min<size_t>(row.step_cost, max_cost)));
  return costs;
}

}  // namespace

// The cost of a step depends only on its target, so the first path to reach a node is its cheapest.
PathTree::PathTree(const Graph& graph, NodeId target) : parents_(graph.size(), no_node) {
  if (graph.size() == 0) return;
  const Buffer<uint8_t> costs = step_costs(graph);
  const Edges& references = graph.references;
  arrivals_.assign_zero(references.targets.size() / bits + 1);
  Frontier frontier;
  const auto reach = [&](NodeId node, NodeId from, size_t distance) {
    parents_[node] = from;
    ++reached_;
    frontier.push(distance, node);
  };
  reach(process_root, process_root, 0);
  for (size_t distance = 0; !frontier.empty(); ++distance) {
    const Buffer<NodeId>& waiting = frontier.at(distance);
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (target != no_node && is_reached(target)) return;
      look_ahead(graph, waiting, i);
      const NodeId node = waiting[i];
      for (size_t edge = references.first[node]; edge < references.first[node + 1]; ++edge) {
        const NodeId next = references.targets[edge];
        if (is_reached(next)) continue;
        arrivals_[edge / bits] |= uint64_t{1} << edge % bits;
        reach(next, node, distance + costs[graph.types[next]]);
      }
    }
    frontier.done(distance);
  }
}

// Three dependent reads miss the cache: where a node's references begin, their targets, and whether those are reached.
void PathTree::look_ahead(const Graph& graph, const Buffer<NodeId>& waiting, size_t at) const {
  constexpr size_t far = 16, near = 8, next = 3, most = 16;
  const Edges& references = graph.references;
  if (at + far < waiting.size()) __builtin_prefetch(&references.first[waiting[at + far]]);
  if (at + near < waiting.size()) __builtin_prefetch(&references.targets[references.first[waiting[at + near]]]);
  if (at + next >= waiting.size()) return;
  const Row row = references.of(waiting[at + next]);
  for (size_t i = 0; i < std::min(most, row.size()); ++i) {
    __builtin_prefetch(&parents_[row.first[i]]);
    __builtin_prefetch(&graph.types[row.first[i]]);
  }
}

std::vector<NodeId> PathTree::path_to(NodeId node) const {
  std::vector<NodeId> path;
  if (!is_reached(node)) return path;
  for (; node != process_root; node = parents_[node]) path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

namespace {

std::vector<NodeId> chain_to(const Buffer<NodeId>& parents, NodeId node, NodeId start, NodeId half) {
  std::vector<NodeId> chain;
  for (; node != start && node != half; node = parents[node]) chain.push_back(node);
  if (node == half) chain.push_back(half);
  chain.push_back(start);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace

NodeId other_half(const Graph& graph, NodeId node) {
  const auto is_native = [&](NodeId at) {
    const NodeKind kind = graph.type_of(at).kind;
    return kind != NodeKind::python && kind != NodeKind::root;
  };
  for (NodeId target : graph.references.of(node)) {
    const Row row = graph.references.of(target);
    if (is_native(target) != is_native(node) && std::find(row.begin(), row.end(), node) != row.end()) return target;
  }
  return no_node;
}

std::vector<NodeId> shortest_cycle(const Graph& graph, NodeId node, size_t limit) {
  const NodeId half = other_half(graph, node);
  const auto is_start = [&](NodeId at) { return at == node || (half != no_node && at == half); };
  Buffer<NodeId> parents(graph.size(), no_node);
  Buffer<NodeId> queue;
  queue.push_back(node);
  if (half != no_node) queue.push_back(half);
  for (size_t next = 0; next < queue.size() && next < limit; ++next) {
    const NodeId at = queue[next];
    for (NodeId target : graph.references.of(at)) {
      if (is_start(target) && (!is_start(at) || (at == node && target == node))) {
        std::vector<NodeId> cycle = chain_to(parents, at, node, half);
        if (target == half) cycle.push_back(half);
        return cycle;
      }
      if (is_start(target) || parents[target] != no_node) continue;
      parents[target] = at;
      queue.push_back(target);
    }
  }
  return {};
}

}  // namespace gradlife::heap
