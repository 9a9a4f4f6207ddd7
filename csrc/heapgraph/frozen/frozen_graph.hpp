// A graph with what was found out about it.
#pragma once

#include <memory>

#include "heapgraph/analysis/dominator_tree.hpp"
#include "heapgraph/analysis/dominators.hpp"
#include "heapgraph/collector/collector.hpp"
#include "heapgraph/frozen/names.hpp"
#include "heapgraph/graph/search.hpp"

namespace gradlife::heap {

struct FrozenGraph {
  Graph graph;
  std::unique_ptr<PathTree> paths;
  std::unique_ptr<Dominators> dominators;
  std::unique_ptr<Dominated> dominated;
  std::unique_ptr<Fates> fates;
  std::unique_ptr<Words> words;     // of a snapshot with labels
  NodeNumbers counts;               // of a snapshot: reference counts that are not the known referrers'
  std::vector<std::string> limits;  // what could not be seen, a sentence each
  std::string notes;                // of a file: what its writer says of it

  PathTree& need_paths();
  // As `need_paths().path_to(node)`; where that is all that is asked, the search ends there.
  std::vector<NodeId> path_to(NodeId node);
  Fates& need_fates(const RefCount& count);
  Dominators& need_dominators();  // std::runtime_error: without sizes
  Dominated& need_dominated();    // the same
  int64_t count_of(NodeId node);  // of a snapshot: the reference count
  size_t bytes() const;
};

}  // namespace gradlife::heap
