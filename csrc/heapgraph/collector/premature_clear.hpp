// References that the cyclic collector clears from wrappers that survive.
#pragma once

#include <unordered_map>

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// Up to PyTorch 1.13 a wrapper whose native object has other owners shows the collector nothing, so it may lie in what
// is found to be garbage; then its attributes are taken before its death is called off (issue 75932), and what they led
// to may go with them. This follows the collector's runs among objects that no root reaches, death by death: a wrapper
// that died meanwhile is owned by its native object, and the collector looks at it as at any other.
class EarlyRuns {
 public:
  // `count`: the references that each object has; `kept_by`: the wrapper that a native object keeps. By their places in
  // `nodes`, which `index` tells of a node, or no_node.
  EarlyRuns(const Graph& graph, const Buffer<NodeId>& nodes, const Buffer<uint32_t>& index,
            const Buffer<int64_t>& count, const std::unordered_map<uint32_t, uint32_t>& kept_by);
  // The wrappers that lost what `Graph::taken` says of them. Linear in the references, times the runs: 16 at most.
  Buffer<uint32_t> run();

 private:
  enum class State : uint8_t { alive, owned, dead };  // owned: of a wrapper, by its native object
  bool is_collectable(uint32_t i) const;
  bool is_silent(uint32_t i) const;
  size_t shown(uint32_t i) const;
  template <class Visit>
  void each_shown(uint32_t i, Visit&& visit) const;
  Buffer<uint8_t> find_used() const;
  void find_garbage();
  void take_apart(uint32_t i);
  void drop(size_t first, size_t last);
  void drop_one(size_t edge);
  void let_die();
  void die(uint32_t i);

  const Graph& graph_;
  const Buffer<NodeId>& nodes_;
  const Buffer<uint32_t>& index_;
  Buffer<int64_t> count_;
  std::unordered_map<uint32_t, uint32_t> native_of_;  // of kept wrappers
  std::unordered_map<uint32_t, uint32_t> owned_by_;   // by native objects: the wrappers that died
  Buffer<State> states_;
  Buffer<uint8_t> is_gone_;   // of each of the graph's references
  Buffer<uint32_t> garbage_;  // of this run
  Buffer<uint32_t> unowned_;  // yet to die
  Buffer<uint32_t> taken_from_;
  size_t dropped_ = 0;  // references, since the first run
};

}  // namespace gradlife::heap
