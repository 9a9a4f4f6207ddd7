// The tracked objects and their types, without references and sizes: takes a third of the time of a walk.
#pragma once

#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/walk/walker.hpp"
#include "heapgraph/frozen/comparison.hpp"

namespace gradlife::heap {

// Error: std::bad_alloc, std::length_error. Needs the interpreter lock; runs no Python code and creates no object.
void take_census(Graph& graph, const WalkOptions& options);

// Describes examples of the new objects while they live: "float32 [3]".
using Details = std::vector<std::pair<NodeId, std::string>>;
Details describe_examples(const Graph& graph, const std::vector<TypeChange>& changes);
Ref detail_dict(const Details& details);

}  // namespace gradlife::heap
