// Writes down, while the objects live, what a report may want to call them later.
#pragma once

#include "heap_py/interpreter/provider.hpp"
#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

// Descriptions of all nodes, and labels of the references that a report can need: those on paths from the roots, those
// of what no root reaches, those of native objects and of what is in a cycle with some, those of containers to what the
// collector knows. `with_user_text`: names that are no identifiers are shown too, not only their type.
Words name_everything(FrozenGraph& frozen, const std::vector<Provider*>& providers, bool with_user_text);

// Reference counts of the collector's objects and of what no root reaches, where they are not the number of known
// referrers.
NodeNumbers uneven_counts(FrozenGraph& frozen, const std::vector<Provider*>& providers);

}  // namespace gradlife::heap
