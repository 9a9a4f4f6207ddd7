#include "heapgraph/search.hpp"

#include <algorithm>
#include <array>

namespace gradlife::heap {
namespace {

constexpr size_t most_cost = 15;

// Nodes waiting at each distance modulo the dearest step (Dial's queue).
class Frontier {
 public:
  void push(size_t distance, NodeId node, NodeId from) {
    Waiting& waiting = buckets_[distance % buckets_.size()];
    waiting.nodes.push_back(node);
    waiting.sources.push_back(from);
    ++count_;
  }
  bool empty() const { return count_ == 0; }
  struct Waiting {
    Buffer<NodeId> nodes;
    Buffer<NodeId> sources;
  };
  Waiting& at(size_t distance) { return buckets_[distance % buckets_.size()]; }
  void done(size_t count) { count_ -= count; }

 private:
  std::array<Waiting, most_cost + 1> buckets_;
  size_t count_ = 0;
};

Buffer<uint8_t> step_costs(const Graph& graph) {
  Buffer<uint8_t> costs;
  for (const TypeRow& row : graph.type_rows)
    costs.push_back(static_cast<uint8_t>(std::min<size_t>(row.step_cost, most_cost)));
  return costs;
}

}  // namespace

PathTree::PathTree(const Graph& graph, NodeId target) : parents_(graph.size(), no_node) {
  if (graph.size() == 0) return;
  const Buffer<uint8_t> costs = step_costs(graph);
  Frontier frontier;
  frontier.push(0, process_root, process_root);
  for (size_t distance = 0; !frontier.empty(); ++distance) {
    constexpr size_t ahead = 12;
    Frontier::Waiting& waiting = frontier.at(distance);
    for (size_t i = 0; i < waiting.nodes.size(); ++i) {
      if (i + ahead < waiting.nodes.size()) {
        __builtin_prefetch(&parents_[waiting.nodes[i + ahead]]);
        __builtin_prefetch(&graph.references.first[waiting.nodes[i + ahead]]);
      }
      const NodeId node = waiting.nodes[i];
      if (parents_[node] != no_node) continue;
      parents_[node] = waiting.sources[i];
      ++reached_;
      if (node == target) return;
      for (NodeId next : graph.references.of(node))
        if (parents_[next] == no_node) frontier.push(distance + costs[graph.types[next]], next, node);
    }
    frontier.done(waiting.nodes.size());
    waiting.nodes.clear();
    waiting.sources.clear();
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
