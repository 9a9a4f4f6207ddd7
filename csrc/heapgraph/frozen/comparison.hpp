// The changes of a heap between two graphs: object by object, or path by path.
#pragma once

#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

struct Tally {
  uint64_t count = 0;
  uint64_t bytes = 0;
};

// Objects of one type that are in only one graph, or in both with another size. An object is identified by its address
// and the name of its type, a grad node by its number, too, and what the collector tracks by its birth, where the marks
// show it. Any other that was freed and replaced at its address by another of its type counts as the same.
struct TypeChange {
  std::string type;
  NodeKind kind;
  Tally appeared, vanished, grown;  // `grown`: bytes gained; shrunken objects do not count
  std::vector<NodeId> examples;     // nodes of the later graph that appeared
};
std::vector<TypeChange> compare_objects(const Graph& before, const Graph& after, size_t examples);

// Objects whose paths from the roots have the same text, without indexes and keys that are numbers: "an element of
// trainer.losses". Both graphs need words.
struct PathChange {
  Tally before, after;
  NodeId example;  // a node of the later graph, or of the earlier one if the later has none
  bool is_example_after;
};
std::vector<PathChange> compare_paths(FrozenGraph& before, FrozenGraph& after);

}  // namespace gradlife::heap
