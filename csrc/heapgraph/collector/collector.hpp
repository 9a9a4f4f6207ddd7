// A simulation of the cyclic collector on the objects that no root reaches, until more runs change nothing.
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
  never,  // the collector cannot free it: a reference that the collector does not see keeps it
};
const char* lifetime_name(Lifetime lifetime);

// An unreachable object whose count is higher than the number of references that the collector sees.
struct Leg {
  NodeId node;
  int64_t unseen;                 // references that no traverse shows
  std::vector<NodeId> referrers;  // the known referrers among them
};

struct Fate {
  Lifetime lifetime = Lifetime::held;
  std::vector<Leg> legs;  // for `never`: the nearest objects with unseen references that keep it, at most 16
  // For `never` without a cycle: the path from the nearest object with unaccounted references.
  std::vector<NodeId> lead;
};

using RefCount = std::function<int64_t(NodeId)>;  // the number of known referrers if the object has no count

// The fate of every object. `paths` must be a complete tree and the graph must have its referrers; both must outlive
// this.
class Fates {
 public:
  Fates(const Graph& graph, const PathTree& paths, const RefCount& count);
  Lifetime lifetime(NodeId node) const { return static_cast<Lifetime>(lifetimes_[node] & ~by_cycle); }
  Fate of(NodeId node) const;
  size_t bytes() const { return lifetimes_.bytes(); }

 private:
  static constexpr uint8_t by_cycle = 0x80;
  std::vector<NodeId> lead_to(NodeId node) const;

  const Graph& graph_;
  Buffer<uint8_t> lifetimes_;                   // with `by_cycle` if an uncollectable cycle keeps it
  std::unordered_map<NodeId, int64_t> unseen_;  // the number of references that no traverse shows, if any
  std::unordered_set<NodeId> unexplained_;      // objects with references that the graph does not explain
};

}  // namespace gradlife::heap
