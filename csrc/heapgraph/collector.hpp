// What the cyclic collector would do with objects that no root reaches.
#pragma once

#include <functional>
#include <vector>

#include "heapgraph/graph.hpp"
#include "heapgraph/search.hpp"

namespace gradlife::heap {

enum class Lifetime : uint8_t {
  held,   // a root reaches it
  gc,     // the collector would free it
  never,  // it would not: something that it does not see holds on
};
const char* lifetime_name(Lifetime lifetime);

// An object that no root reaches and whose count is higher than the references that the collector sees.
struct Leg {
  NodeId node;
  int64_t unseen;                 // references that no traverse shows
  std::vector<NodeId> referrers;  // of those, the native ones that the graph knows
};

struct Fate {
  Lifetime lifetime = Lifetime::held;
  std::vector<Leg> legs;  // of `never`: what the collector would start from, the nearest first, 16 at most
};

using RefCount = std::function<int64_t(NodeId)>;  // of a Python object
// Plays the collector for one object. `paths` must be a whole tree, and the graph must have its referrers.
Fate decide_fate(const Graph& graph, const PathTree& paths, NodeId node, const RefCount& count);

}  // namespace gradlife::heap
