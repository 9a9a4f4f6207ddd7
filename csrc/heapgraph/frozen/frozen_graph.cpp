#include "heapgraph/frozen/frozen_graph.hpp"

#include <stdexcept>

namespace gradlife::heap {

PathTree& FrozenGraph::need_paths() {
  if (paths == nullptr) paths = std::make_unique<PathTree>(graph);
  return *paths;
}

std::vector<NodeId> FrozenGraph::path_to(NodeId node) {
  if (paths != nullptr) return paths->path_to(node);
  auto found = std::make_unique<PathTree>(graph, node);
  std::vector<NodeId> path = found->path_to(node);
  if (!found->is_reached(node)) paths = std::move(found);  // the search visited everything
  return path;
}

Fates& FrozenGraph::need_fates(const RefCount& count) {
  need_paths();
  graph.build_referrers();
  if (fates == nullptr) fates = std::make_unique<Fates>(graph, need_paths(), count);
  return *fates;
}

Dominators& FrozenGraph::need_dominators() {
  if (graph.sizes.empty()) throw std::runtime_error("this graph was walked without sizes");
  if (dominators == nullptr) dominators = std::make_unique<Dominators>(find_dominators(graph));
  return *dominators;
}

DominatorTree& FrozenGraph::need_dominator_tree() {
  const Dominators& tree = need_dominators();
  if (dominator_tree == nullptr) dominator_tree = std::make_unique<DominatorTree>(graph, tree);
  return *dominator_tree;
}

int64_t FrozenGraph::count_of(NodeId node) {
  if (const uint32_t* known = counts.find(node)) return *known;
  graph.build_referrers();
  return static_cast<int64_t>(graph.referrers.of(node).size());
}

size_t FrozenGraph::bytes() const {
  return graph.bytes() + (paths != nullptr ? paths->bytes() : 0) + (dominators != nullptr ? dominators->bytes() : 0) +
         (dominator_tree != nullptr ? dominator_tree->bytes() : 0) + (words != nullptr ? words->bytes() : 0) +
         (fates != nullptr ? fates->bytes() : 0);
}

}  // namespace gradlife::heap
