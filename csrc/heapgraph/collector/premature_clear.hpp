// References that the cyclic collector clears from wrappers that survive.
#pragma once

#include <unordered_map>

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// Up to PyTorch 1.13 a wrapper whose native object has other owners reports no references, so the collector may take it
// for garbage. It then clears the wrapper's attributes before the wrapper is resurrected (issue 75932), which may free
// the objects that they lead to. This simulates the collector's runs on the objects that no root reaches, one freed
// object at a time. A resurrected wrapper is owned by its native object and is traversed like any other.
class PrematureClear {
 public:
  // `count`: the reference count of each object; `kept_by`: the wrapper that a native object keeps alive. Objects are
  // numbered by their positions in `nodes`; `index` maps a node to its position, or to no_node.
  PrematureClear(const Graph& graph, const Buffer<NodeId>& nodes, const Buffer<uint32_t>& index,
                 const Buffer<int64_t>& count, const std::unordered_map<uint32_t, uint32_t>& kept_by);
  // Return the wrappers whose `__dict__` is cleared, see `Graph::cleared_dicts`. Linear in the references times the
  // runs, at most 16.
  Buffer<uint32_t> run();

 private:
  enum class State : uint8_t { alive, owned, dead };  // owned: a wrapper resurrected by its native object
  bool is_collectable(uint32_t i) const;
  bool shows_nothing(uint32_t i) const;
  size_t visible_count(uint32_t i) const;
  template <class Visit>
  void each_visible(uint32_t i, Visit&& visit) const;
  Buffer<uint8_t> find_in_use() const;
  void find_garbage();
  void clear_object(uint32_t i);
  void drop(size_t first, size_t last);
  void drop_one(size_t edge);
  void free_unowned();
  void free_object(uint32_t i);

  const Graph& graph_;
  const Buffer<NodeId>& nodes_;
  const Buffer<uint32_t>& index_;
  Buffer<int64_t> count_;
  std::unordered_map<uint32_t, uint32_t> native_of_;  // of kept wrappers
  std::unordered_map<uint32_t, uint32_t> owned_by_;   // by native objects: the resurrected wrappers
  Buffer<State> states_;
  Buffer<uint8_t> is_gone_;   // for each reference of the graph
  Buffer<uint32_t> garbage_;  // found in this run
  Buffer<uint32_t> unowned_;  // with a count of 0, to be freed
  Buffer<uint32_t> taken_from_;
  size_t dropped_ = 0;  // references dropped since the first run
};

}  // namespace gradlife::heap
