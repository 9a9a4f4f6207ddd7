#include "heapgraph/frozen/recent_nodes.hpp"

#include <utility>

#include "heapgraph/frozen/comparison.hpp"
#include "heapgraph/frozen/longer_containers.hpp"

namespace gradlife::heap {
namespace {

constexpr uint64_t large = 4096;  // bytes; such an object may grow in place

NodeSet subjects_of(FrozenGraph& frozen, const Graph& earlier) {
  const Graph& graph = frozen.graph;
  const PathTree& paths = frozen.need_paths();
  NodeSet found(graph.size());
  for (const TypeChange& row : compare_objects(earlier, graph, SIZE_MAX))
    for (NodeId node : row.examples) found.add(node);
  for (const LongerContainer& row : longer_containers({&earlier, &graph})) found.add(row.node);
  for (size_t i = 0; i < graph.size(); ++i) {
    const NodeId node = static_cast<NodeId>(i);
    if (graph.type_of(node).kind != NodeKind::python || graph.size_of(node) >= large || !paths.is_reached(node))
      found.add(node);
  }
  return found;
}

}  // namespace

NodeSet recent_nodes(FrozenGraph& frozen, const Graph& earlier) {
  const Graph& graph = frozen.graph;
  const PathTree& paths = frozen.need_paths();
  const NodeSet subjects = subjects_of(frozen, earlier);
  NodeSet found(graph.size());
  const auto add_path = [&](NodeId node) {
    for (; !found.has(node); node = paths.parent(node)) {
      found.add(node);
      if (!paths.is_reached(node)) return;
    }
  };
  for (size_t i = 0; i < graph.size(); ++i) {
    const NodeId node = static_cast<NodeId>(i);
    if (subjects.has(node)) add_path(node);
    for (NodeId target : graph.references.of(node))
      if (subjects.has(target)) add_path(node);
  }
  return found;
}

}  // namespace gradlife::heap
