// Which unreachable objects CPython's cyclic collector would free if it ran until it found no more.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "heapgraph/graph/graph.hpp"
#include "heapgraph/graph/search.hpp"

namespace gradlife::heap {

enum class Lifetime : uint8_t {
  held,   // a root reaches it
  gc,     // the collector frees it, directly or through an object that it frees
  never,  // the collector cannot free it: a hidden reference keeps it
};
const char* lifetime_name(Lifetime lifetime);

// An unreachable Python object with hidden references to it, usually from C++. The collector takes it for externally
// held, so it survives with all that it refers to.
struct UncollectableObject {
  NodeId node;
  int64_t hidden;                 // references that no tp_traverse reports
  std::vector<NodeId> referrers;  // the known sources of these references
};

struct Fate {
  Lifetime lifetime = Lifetime::held;
  std::vector<UncollectableObject> uncollectable;  // if `never`: the objects that keep it, nearest first, at most 16
  // If `never`, and no uncollectable cycle keeps it: the path to it from the nearest object with unexplained
  // references.
  std::vector<NodeId> native_path;
};

using RefCount =
    std::function<int64_t(NodeId)>;  // an object's reference count; without one, the number of its known referrers

// The fate of every object. `paths` must cover the whole graph and the graph must have its referrers; both must outlive
// this object.
class Fates {
 public:
  Fates(const Graph& graph, const PathTree& paths, const RefCount& count);
  Lifetime lifetime(NodeId node) const { return static_cast<Lifetime>(lifetimes_[node] & ~by_cycle); }
  Fate of(NodeId node) const;
  size_t bytes() const { return lifetimes_.bytes(); }

 private:
  static constexpr uint8_t by_cycle = 0x80;
  std::vector<NodeId> native_path_to(NodeId node) const;

  const Graph& graph_;
  Buffer<uint8_t> lifetimes_;                   // with the flag `by_cycle` if an uncollectable cycle keeps the object
  std::unordered_map<NodeId, int64_t> hidden_;  // the number of hidden references, if there are any
  std::unordered_set<NodeId> unexplained_;      // objects with unexplained references
};

}  // namespace gradlife::heap
