#include "heapgraph/components.hpp"

#include <algorithm>

namespace gradlife::heap {
namespace {

// Tarjan's algorithm with its stack on the heap.
class Tarjan {
 public:
  explicit Tarjan(const Graph& graph) : graph_(graph), order_(graph.size(), unseen), low_(graph.size()) {
    components_.of_node.assign(graph.size(), Components::none);
    on_stack_.assign_zero(graph.size());
  }
  Components run() {
    for (size_t node = 0; node < graph_.size(); ++node)
      if (order_[node] == unseen) search(static_cast<NodeId>(node));
    return std::move(components_);
  }

 private:
  static constexpr uint32_t unseen = UINT32_MAX;
  struct Frame {
    NodeId node;
    uint32_t next;
  };

  void enter(NodeId node) {
    order_[node] = low_[node] = count_++;
    open_.push_back(node);
    on_stack_[node] = 1;
    frames_.push_back({node, graph_.references.first[node]});
  }
  void search(NodeId start) {
    enter(start);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.next < graph_.references.first[frame.node + 1]) {
        const NodeId target = graph_.references.targets[frame.next++];
        if (order_[target] == unseen) {
          enter(target);
        } else if (on_stack_[target] != 0) {
          low_[frame.node] = std::min(low_[frame.node], order_[target]);
        }
        continue;
      }
      const NodeId node = frame.node;
      frames_.pop_back();
      if (!frames_.empty()) low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
      if (low_[node] == order_[node]) close(node);
    }
  }
  void close(NodeId root) {
    size_t first = open_.size();
    do {
      --first;
      on_stack_[open_[first]] = 0;
    } while (open_[first] != root);
    const size_t size = open_.size() - first;
    if (size > 1 || refers_to_itself(root)) {
      for (size_t i = first; i < open_.size(); ++i)
        components_.of_node[open_[i]] = static_cast<uint32_t>(components_.sizes.size());
      components_.sizes.push_back(static_cast<uint32_t>(size));
    }
    open_.resize(first);
  }
  bool refers_to_itself(NodeId node) const {
    const Row row = graph_.references.of(node);
    return std::find(row.begin(), row.end(), node) != row.end();
  }

  const Graph& graph_;
  Components components_;
  Buffer<uint32_t> order_, low_;
  Buffer<uint8_t> on_stack_;
  Buffer<NodeId> open_;
  Buffer<Frame> frames_;
  uint32_t count_ = 0;
};

}  // namespace

Components find_components(const Graph& graph) { return Tarjan(graph).run(); }

}  // namespace gradlife::heap
