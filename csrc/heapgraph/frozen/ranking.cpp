#include "heapgraph/frozen/ranking.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "heapgraph/analysis/components.hpp"

namespace gradlife::heap {
namespace {

bool is_native(NodeKind kind) { return kind != NodeKind::python && kind != NodeKind::root; }

// For each node, the most that one node which it dominates directly retains.
Buffer<uint64_t> largest_parts(const Dominators& dominators) {
  Buffer<uint64_t> largest;
  largest.assign_zero(dominators.parents.size());
  for (size_t node = 1; node < dominators.parents.size(); ++node) {
    const NodeId above = dominators.parents[node];
    if (above != no_node) largest[above] = std::max(largest[above], dominators.retained[node]);
  }
  return largest;
}

void sort_by_retained(std::vector<NodeId>& nodes, const Dominators& dominators) {
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](NodeId a, NodeId b) { return dominators.retained[a] > dominators.retained[b]; });
}

// Whether the node is a type written in C: it lives as long as the process without a root, and is not tracked.
bool is_static_type(const Graph& graph, NodeId node) {
  return !graph.is_tracked(node) && graph.type_of(node).name == "type";
}

// Whether the node is a Python object that holds a native one: the best start of a cycle with native references.
bool is_wrapper(const Graph& graph, NodeId node) {
  if (node == no_node || graph.type_of(node).kind != NodeKind::python) return false;
  const Row row = graph.references.of(node);
  return std::any_of(row.begin(), row.end(), [&](NodeId target) { return is_native(graph.type_of(target).kind); });
}

std::vector<bool> rows_named(const Graph& graph, const std::string& name) {
  std::vector<bool> is_wanted(graph.type_rows.size());
  for (size_t row = 0; row < graph.type_rows.size(); ++row) is_wanted[row] = graph.type_rows[row].name == name;
  return is_wanted;
}

}  // namespace

std::vector<NodeId> largest_nodes(FrozenGraph& frozen, size_t count) {
  const Graph& graph = frozen.graph;
  const Dominators& dominators = frozen.need_dominators();
  const Buffer<uint64_t> parts = largest_parts(dominators);
  std::vector<NodeId> found;
  for (size_t i = 0; i < graph.size(); ++i) {
    const NodeId node = static_cast<NodeId>(i);
    const uint64_t retained = dominators.retained[node];
    const bool is_spine = parts[node] > 0 && parts[node] >= retained / 2;
    if (dominators.parents[node] == no_node || graph.type_of(node).kind == NodeKind::root || is_spine) continue;
    found.push_back(node);
  }
  const auto more = [&](NodeId a, NodeId b) {
    return std::make_tuple(dominators.retained[b], a) < std::make_tuple(dominators.retained[a], b);
  };
  const size_t kept = std::min(count, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), more);
  found.resize(kept);
  return found;
}

std::vector<NodeId> nodes_of_type(FrozenGraph& frozen, const std::string& name) {
  const std::vector<bool> is_wanted = rows_named(frozen.graph, name);
  std::vector<NodeId> found;
  for (size_t node = 0; node < frozen.graph.size(); ++node)
    if (is_wanted[frozen.graph.types[node]]) found.push_back(static_cast<NodeId>(node));
  if (!found.empty()) sort_by_retained(found, frozen.need_dominators());
  return found;
}

std::vector<HolderRow> holders_of_type(FrozenGraph& frozen, const std::string& name) {
  const Graph& graph = frozen.graph;
  const std::vector<bool> is_wanted = rows_named(graph, name);
  std::vector<HolderRow> rows(graph.type_rows.size(), HolderRow{0, 0, 0});
  for (size_t node = 0; node < graph.size(); ++node) {
    uint64_t references = 0;
    for (NodeId target : graph.references.of(static_cast<NodeId>(node)))
      references += is_wanted[graph.types[target]] ? 1 : 0;
    HolderRow& row = rows[graph.types[node]];
    row.type = graph.types[node];
    row.references += references;
    row.holders += references != 0 ? 1 : 0;
  }
  rows.erase(std::remove_if(rows.begin(), rows.end(), [](const HolderRow& row) { return row.references == 0; }),
             rows.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const HolderRow& a, const HolderRow& b) { return a.references > b.references; });
  return rows;
}

std::vector<CyclicPart> cyclic_parts(FrozenGraph& frozen) {
  const Graph& graph = frozen.graph;
  const Components components = find_components(graph.references);
  const PathTree& paths = frozen.need_paths();
  std::vector<CyclicPart> parts(components.sizes.size(), CyclicPart{no_node, 0, 0, false, false, false});
  for (size_t i = 0; i < graph.size(); ++i) {
    if (components.of_node[i] == Components::none) continue;
    const NodeId node = static_cast<NodeId>(i);
    CyclicPart& part = parts[components.of_node[i]];
    part.has_native = part.has_native || is_native(graph.type_of(node).kind);
    part.has_module = part.has_module || graph.type_of(node).name == "module";
    const bool is_better = !is_wrapper(graph, part.start) && is_wrapper(graph, node);
    if (part.start == no_node || is_better) part.start = node;
    part.is_held = part.is_held || paths.is_reached(node) || is_static_type(graph, node);
    part.nodes += 1;
    part.bytes += graph.sizes.empty() ? 0 : graph.size_of(node);
  }
  const auto is_one_thing = [](const CyclicPart& part) { return part.has_native && part.nodes == 2; };
  parts.erase(std::remove_if(parts.begin(), parts.end(), is_one_thing), parts.end());
  std::stable_sort(parts.begin(), parts.end(), [](const CyclicPart& a, const CyclicPart& b) {
    return std::make_tuple(b.has_native, a.is_held, b.nodes) < std::make_tuple(a.has_native, b.is_held, a.nodes);
  });
  return parts;
}

}  // namespace gradlife::heap
