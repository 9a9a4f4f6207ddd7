// References that the cyclic collector clears from wrappers that survive.
#pragma once

#include <unordered_map>

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// Up to PyTorch 1.13 a wrapper whose native object has other owners shows the collector nothing, so it can be part of
// garbage. Then its attributes are cleared before it is resurrected (issue 75932), and their referents may be freed
// with them. This class simulates the collector's runs on unreachable objects, death by death. A wrapper that died and
// was resurrected is owned by its native object, and the collector treats it like any other object.
class EarlyRuns {
 public:
  // `count`: references of each object; `kept_by`: the wrapper that a native object keeps. Both by index in `nodes`;
  // `index` maps a node to that, or to no_node.
  EarlyRuns(const Graph& graph, const Buffer<NodeId>& nodes, const Buffer<uint32_t>& index,
            const Buffer<int64_t>& count, const std::unordered_map<uint32_t, uint32_t>& kept_by);
  // Returns the wrappers that lost the attributes in `Graph::taken`. Linear in the references for each of at most 16
  // runs.
  Buffer<uint32_t> run();

 private:
  enum class State : uint8_t { alive, owned, dead };  // owned: a wrapper held by its native object
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
  std::unordered_map<uint32_t, uint32_t> native_of_;  // by kept wrapper
  std::unordered_map<uint32_t, uint32_t> owned_by_;   // by native object: the wrappers that died
  Buffer<State> states_;
  Buffer<uint8_t> is_gone_;   // by reference of the graph
  Buffer<uint32_t> garbage_;  // of the current run
  Buffer<uint32_t> unowned_;  // still to die
  Buffer<uint32_t> taken_from_;
  size_t dropped_ = 0;  // number of references dropped since the first run
};

}  // namespace gradlife::heap
