#include "heapgraph/analysis/dominators.hpp"

#include <algorithm>

namespace gradlife::heap {
namespace {

// Numbers the nodes in the order in which a depth-first search meets them. All arrays but `number_` have these numbers
// as indices, so that they are read in order. `parent_` has the edge by which a node is first met; the other edges are
// listed by their targets.
class SemiNca {
 public:
  explicit SemiNca(const Graph& graph) : graph_(graph), number_(graph.size(), no_node) {}

  Dominators run() {
    number_nodes();
    reverse_edges();
    find_semidominators();
    for (uint32_t i = 1; i < reached(); ++i) {
      uint32_t dominator = dominator_[i];
      while (dominator > semi_[i]) dominator = dominator_[dominator];
      dominator_[i] = dominator;
    }
    return collect();
  }

 private:
  static constexpr uint32_t max_ahead = 16;  // references of a node to prefetch when it is entered
  struct Frame {
    uint32_t number;
    uint32_t next, end;  // the node's remaining references
  };
  struct Edge {
    uint32_t from, to;
  };

  uint32_t reached() const { return static_cast<uint32_t>(node_.size()); }

  void enter(NodeId node, uint32_t parent) {
    const Edges& edges = graph_.references;
    const uint32_t first = edges.first[node], end = edges.first[node + 1];
    for (uint32_t i = first; i < std::min(end, first + max_ahead); ++i) {
      __builtin_prefetch(&number_[edges.targets[i]]);
      __builtin_prefetch(&edges.first[edges.targets[i]]);
    }
    if (first != end) frames_.push_back({reached(), first, end});
    number_[node] = reached();
    node_.push_back(node);
    parent_.push_back(parent);
  }
  void number_nodes() {
    const NodeId* targets = graph_.references.targets.data();
    enter(process_root, 0);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.next == frame.end) {
        frames_.pop_back();
        continue;
      }
      const NodeId target = targets[frame.next++];
      if (number_[target] == no_node) {
        enter(target, frame.number);
      } else if (number_[target] != 0) {  // not the root, which nothing dominates
        other_edges_.push_back({frame.number, number_[target]});
      }
    }
    number_ = {};
  }
  // Reverses the edges: a counting sort by target. The first loop counts the edges to t in first_[t + 2]; the second
  // adds up, so that first_[t + 1] is where those edges begin; the third moves it to where they end, as it places them.
  // Afterwards they begin at first_[t].
  void reverse_edges() {
    first_.assign_zero(reached() + 2);
    for (const Edge& edge : other_edges_) first_[edge.to + 2] += 1;
    for (uint32_t i = 2; i < reached() + 2; ++i) first_[i] += first_[i - 1];
    sources_.resize(other_edges_.size());
    for (const Edge& edge : other_edges_) sources_[first_[edge.to + 1]++] = edge.from;
    other_edges_ = {};
  }

  void find_semidominators() {
    const uint32_t count = reached();
    dominator_.resize(count);
    semi_.resize(count);
    label_.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      dominator_[i] = parent_[i];  // at first the tree's parent, a copy: `parent_` changes as paths are shortened
      semi_[i] = label_[i] = i;
    }
    for (uint32_t i = count - 1; i >= 1; --i) {
      uint32_t semi = dominator_[i];
      for (uint32_t e = first_[i]; e < first_[i + 1] && semi != 0; ++e)
        semi = std::min(semi, semi_[evaluate(sources_[e], i + 1)]);
      semi_[i] = semi;
    }
  }

  // Returns the node with the least semidominator among `i` and those of its ancestors that are finished, which have
  // numbers from `first_finished` upwards. Stores the result for each node on the way in its label; a later call reads
  // it there.
  uint32_t evaluate(uint32_t i, uint32_t first_finished) {
    if (parent_[i] < first_finished) return label_[i];
    path_.clear();
    do {
      path_.push_back(i);
      i = parent_[i];
    } while (parent_[i] >= first_finished);
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
    Buffer<uint64_t> retained(reached());
    for (uint32_t i = 0; i < reached(); ++i) retained[i] = graph_.size_with_atoms(node_[i]);
    for (uint32_t i = reached() - 1; i >= 1; --i) retained[dominator_[i]] += retained[i];
    Dominators result;
    result.parents.assign(graph_.size(), no_node);
    result.retained.assign_zero(graph_.size());
    for (uint32_t i = 0; i < reached(); ++i) {
      result.parents[node_[i]] = node_[dominator_[i]];
      result.retained[node_[i]] = retained[i];
    }
    return result;
  }

  const Graph& graph_;
  Buffer<uint32_t> number_;  // by node
  Buffer<NodeId> node_;      // by number, like all arrays below
  Buffer<uint32_t> parent_, dominator_, semi_, label_, path_;
  Buffer<Edge> other_edges_;          // all edges except those by which nodes were first met
  Buffer<uint32_t> first_, sources_;  // the same edges by target
  Buffer<Frame> frames_;
};

}  // namespace

Dominators find_dominators(const Graph& graph) { return SemiNca(graph).run(); }

}  // namespace gradlife::heap
