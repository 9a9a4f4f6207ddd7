// Tables over a whole graph: the largest retained sizes, the holders of a type, the cyclic components.
#pragma once

#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

// The nodes that retain most, in order. If one object held by a node retains at least half of that, it is listed
// instead of the node.
std::vector<NodeId> largest_nodes(FrozenGraph& frozen, size_t count);

// Nodes of a type by its name, largest retained size first.
std::vector<NodeId> nodes_of_type(FrozenGraph& frozen, const std::string& name);

struct HolderRow {
  uint32_t type;
  uint64_t holders;     // objects of this type that refer to one of them
  uint64_t references;  // the number of their references
};
std::vector<HolderRow> holders_of_type(FrozenGraph& frozen, const std::string& name);

struct CyclicPart {
  NodeId start;  // one of its nodes, preferably one that holds a native object
  uint64_t nodes;
  uint64_t bytes;
  bool is_held;     // a root reaches it, or it contains a type written in C
  bool has_native;  // it has references that the collector does not see
  bool has_module;  // it contains a module: every program has such a tangle of modules, classes and functions
};
// Components with native references first, then unreachable ones, then by size. A wrapper and its C++ object that hold
// each other count as one object, not as a cycle.
std::vector<CyclicPart> cyclic_parts(FrozenGraph& frozen);

}  // namespace gradlife::heap
