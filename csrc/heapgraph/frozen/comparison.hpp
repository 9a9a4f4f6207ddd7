// The changes of a heap between two graphs: object by object, or place by place.
#pragma once

#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

struct Tally {
  uint64_t count = 0;
  uint64_t bytes = 0;
};

// Objects of one type that are in one graph only, or in both with another size. An object is known again by its address
// and the name of its type: one that was freed and replaced in its place by one of the same type passes for the same.
struct TypeChange {
  std::string type;
  NodeKind kind;
  Tally appeared, vanished, grown;  // `grown`: bytes gained; those that shrank are no part of it
  std::vector<NodeId> examples;     // of those that appeared, nodes of the later graph
};
std::vector<TypeChange> compare_objects(const Graph& before, const Graph& after, size_t examples);

// Objects whose paths from the roots read the same, places in sequences and keys that are numbers left out:
// "an element of trainer.losses". Both
// graphs need words.
struct PathChange {
  Tally before, after;
  NodeId example;  // a node of the later graph, or of the earlier one where the later has none
  bool is_example_after;
};
std::vector<PathChange> compare_paths(FrozenGraph& before, FrozenGraph& after);

}  // namespace gradlife::heap
