// A graph with the results of its analyses, each computed when it is first needed.
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
  std::unique_ptr<DominatorTree> dominator_tree;
  std::unique_ptr<Fates> fates;
  std::unique_ptr<Words> words;     // only for a snapshot with labels
  NodeNumbers counts;               // only for a snapshot: counts that differ from the number of known referrers
  std::vector<std::string> limits;  // what could not be read, one sentence each
  std::string notes;                // only for a file: its metadata

  PathTree& need_paths();
  // Returns `need_paths().path_to(node)`. If there is no path tree yet, the search stops at the node.
  std::vector<NodeId> path_to(NodeId node);
  Fates& need_fates(const RefCount& count);
  Dominators& need_dominators();         // std::runtime_error without sizes
  DominatorTree& need_dominator_tree();  // std::runtime_error without sizes
  int64_t count_of(NodeId node);         // only for a snapshot: the reference count
  size_t bytes() const;
};

}  // namespace gradlife::heap
