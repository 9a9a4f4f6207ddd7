#include "heapgraph/dominators.hpp"

#include <algorithm>

namespace gradlife::heap {
namespace {

class SemiNca {
 public:
  explicit SemiNca(const Graph& graph) : graph_(graph), number_(graph.size(), no_node) {}

  Dominators run() {
    number_nodes();
    find_semidominators();
    for (uint32_t i = 1; i < reached(); ++i) {
      uint32_t dominator = dominator_[i];
      while (dominator > semi_[i]) dominator = dominator_[dominator];
      dominator_[i] = dominator;
    }
    return collect();
  }

 private:
  uint32_t reached() const { return static_cast<uint32_t>(node_.size()); }

  void number(NodeId node, uint32_t parent) {
    number_[node] = reached();
    node_.push_back(node);
    parent_.push_back(parent);
  }
  // In the order of a depth-first search.
  void number_nodes() {
    struct Frame {
      NodeId node;
      uint32_t next;
    };
    Buffer<Frame> frames;
    const Edges& edges = graph_.references;
    number(process_root, 0);
    frames.push_back({process_root, edges.first[process_root]});
    while (!frames.empty()) {
      Frame& frame = frames.back();
      if (frame.next == edges.first[frame.node + 1]) {
        frames.pop_back();
        continue;
      }
      const NodeId target = edges.targets[frame.next++];
      if (number_[target] != no_node) continue;
      number(target, number_[frame.node]);
      frames.push_back({target, edges.first[target]});
    }
  }

  void find_semidominators() {
    const uint32_t count = reached();
    dominator_.resize(count);
    semi_.resize(count);
    label_.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      dominator_[i] = parent_[i];
      semi_[i] = label_[i] = i;
    }
    for (uint32_t i = count - 1; i >= 1; --i) {
      uint32_t semi = dominator_[i];
      for (NodeId referrer : graph_.referrers.of(node_[i]))
        if (number_[referrer] != no_node) semi = std::min(semi, semi_[evaluate(number_[referrer], i + 1)]);
      semi_[i] = semi;
    }
  }

  // The node of least semidominator between `i` and the part of the tree that is done; shortens the path for the next.
  uint32_t evaluate(uint32_t i, uint32_t last_done) {
    if (parent_[i] < last_done) return label_[i];
    path_.clear();
    do {
      path_.push_back(i);
      i = parent_[i];
    } while (parent_[i] >= last_done);
    uint32_t above = i;
    uint32_t best = label_[above];
    while (!path_.empty()) {
      const uint32_t at = path_.back();
      path_.pop_back();
      parent_[at] = parent_[above];
      if (semi_[best] < semi_[label_[at]]) {
        label_[at] = best;
      } else {
        best = label_[at];
      }
      above = at;
    }
    return best;
  }

  Dominators collect() {
    Dominators result;
    result.parents.assign(graph_.size(), no_node);
    result.retained.assign_zero(graph_.size());
    result.parents[process_root] = process_root;
    for (uint32_t i = reached() - 1; i >= 1; --i) {
      const NodeId node = node_[i];
      const NodeId above = node_[dominator_[i]];
      result.parents[node] = above;
      result.retained[node] += graph_.size_of(node);
      result.retained[above] += result.retained[node];
    }
    result.retained[process_root] += graph_.size_of(process_root);
    return result;
  }

  const Graph& graph_;
  Buffer<uint32_t> number_;  // by node
  Buffer<NodeId> node_;      // by number, as all that follow
  Buffer<uint32_t> parent_, dominator_, semi_, label_, path_;
};

}  // namespace

Dominators find_dominators(const Graph& graph) { return SemiNca(graph).run(); }

}  // namespace gradlife::heap
