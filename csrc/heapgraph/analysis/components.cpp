#include "heapgraph/analysis/components.hpp"

#include <algorithm>

namespace gradlife::heap {
namespace {

// Tarjan's algorithm with its stack on the heap. A node stores only its number, or that its component is closed; the
// other data of nodes on the path are in the frames, which are read in order.
class Tarjan {
 public:
  explicit Tarjan(const Edges& references) : references_(references), order_(references.rows(), unseen) {
    components_.of_node.assign(references.rows(), Components::none);
  }
  Components run() {
    for (size_t node = 0; node < references_.rows(); ++node)
      if (order_[node] == unseen) search(static_cast<NodeId>(node));
    return std::move(components_);
  }
  Components run(const Buffer<NodeId>& starts, const Buffer<NodeId>& borders) {
    for (NodeId node : borders) order_[node] = closed;
    for (NodeId node : starts)
      if (order_[node] == unseen) search(node);
    return std::move(components_);
  }

 private:
  static constexpr uint32_t unseen = UINT32_MAX;
  static constexpr uint32_t max_ahead = 16;           // references of a node to prefetch when it is entered
  static constexpr uint32_t closed = UINT32_MAX - 1;  // larger than every number: not on the path
  struct Frame {
    NodeId node;
    uint32_t next, end;  // the node's remaining references
    uint32_t low;
  };

  void enter(NodeId node) {
    const uint32_t first = references_.first[node], end = references_.first[node + 1];
    if (first == end) {  // no references: a component of its own
      order_[node] = closed;
      return;
    }
    for (uint32_t i = first; i < std::min(end, first + max_ahead); ++i) {
      __builtin_prefetch(&order_[references_.targets[i]]);
      __builtin_prefetch(&references_.first[references_.targets[i]]);
    }
    order_[node] = count_;
    open_.push_back(node);
    frames_.push_back({node, first, end, count_++});
  }
  void search(NodeId start) {
    enter(start);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.next < frame.end) {
        const NodeId target = references_.targets[frame.next++];
        if (order_[target] == unseen) {
          enter(target);
        } else {
          frame.low = std::min(frame.low, order_[target]);
        }
        continue;
      }
      const NodeId node = frame.node;
      const uint32_t low = frame.low;
      frames_.pop_back();
      if (!frames_.empty()) frames_.back().low = std::min(frames_.back().low, low);
      if (low == order_[node]) close(node);
    }
  }
  void close(NodeId root) {
    size_t first = open_.size();
    do {
      --first;
      order_[open_[first]] = closed;
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
    const Row row = references_.of(node);
    return std::find(row.begin(), row.end(), node) != row.end();
  }

  const Edges& references_;
  Components components_;
  Buffer<uint32_t> order_;
  Buffer<NodeId> open_;
  Buffer<Frame> frames_;
  uint32_t count_ = 0;
};

}  // namespace

Components find_components(const Edges& references) { return Tarjan(references).run(); }

Components find_components(const Edges& references, const Buffer<NodeId>& starts, const Buffer<NodeId>& borders) {
  return Tarjan(references).run(starts, borders);
}

}  // namespace gradlife::heap
