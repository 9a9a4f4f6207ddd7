// Records, while the objects live, the names that a report may need later.
#pragma once

#include "heap_py/interpreter/provider.hpp"
#include "heapgraph/frozen/frozen_graph.hpp"
#include "heapgraph/graph/node_set.hpp"

namespace gradlife::heap {

// Descriptions of all nodes, and labels of the references that a report can need: those on paths from the roots, of
// unreachable objects, of native objects and of what is in a cycle with them, and from containers to tracked objects.
// `with_user_text`: keeps names that are not identifiers, not only their type. `wanted`: if given, only these nodes,
// and the references between them, get texts.
Words name_everything(FrozenGraph& frozen, const std::vector<Provider*>& providers, bool with_user_text,
                      const NodeSet* wanted = nullptr);

// Reference counts of tracked objects and of unreachable ones, if they differ from the number of known referrers.
NodeNumbers uneven_counts(FrozenGraph& frozen, const std::vector<Provider*>& providers);

}  // namespace gradlife::heap
