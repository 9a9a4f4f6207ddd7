// Tables over a whole graph: what retains most, who holds a type, which parts are cyclic.
#pragma once

#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

// The nodes that retain most, in order. A node is passed over where half of that is retained by one other that it
// holds, for that other.
std::vector<NodeId> largest_nodes(FrozenGraph& frozen, size_t count);

// Nodes of a type by its name, those that retain most first.
std::vector<NodeId> nodes_of_type(FrozenGraph& frozen, const std::string& name);

struct HolderRow {
  uint32_t type;
  uint64_t holders;     // objects of this type that refer to one
  uint64_t references;  // from them
};
std::vector<HolderRow> holders_of_type(FrozenGraph& frozen, const std::string& name);

struct CyclicPart {
  NodeId start;  // one of its nodes, where there is any one that holds a native one
  uint64_t nodes;
  uint64_t bytes;
  bool is_held;     // a root reaches it, or it is of a type written in C
  bool has_native;  // the collector does not see all of its references
  bool has_module;  // a module is in it: the tangle of modules, classes and functions that every program has
};
// Objects with native references first, unreachable ones before others; then by size. A wrapper and its C++ object
// that hold each other are one thing, and no cycle.
std::vector<CyclicPart> cyclic_parts(FrozenGraph& frozen);

}  // namespace gradlife::heap
