#include "heapgraph/collector/garbage.hpp"

#include <algorithm>

#include "heapgraph/collector/premature_clear.hpp"

namespace gradlife::heap {

Garbage::Garbage(const Graph& graph, const PathTree& paths, const RefCount& count)
    : graph_(graph), index_(graph.size(), no_node) {
  for (size_t node = 0; node < graph.size(); ++node) {
    if (paths.is_reached(static_cast<NodeId>(node))) continue;
    index_[node] = static_cast<uint32_t>(nodes.size());
    nodes.push_back(static_cast<NodeId>(node));
  }
  for (Buffer<int64_t>* counts : {&count_, &visible_, &known_}) counts->assign_zero(size());
  is_collectable_.assign_zero(size());
  has_coupled_.assign_zero(size());
  for (uint32_t i = 0; i < size(); ++i) {
    is_collectable_[i] = heap::is_collectable(graph, nodes[i]) ? 1 : 0;
    count_[i] = count(nodes[i]);
  }
  find_coupled_wrappers();
  find_kept_wrappers();
  leave_out_taken();
  for (uint32_t i = 0; i < size(); ++i) add_row(i);
  references.first.push_back(static_cast<uint32_t>(references.targets.size()));
  drop_redundant_hidden();
}

void Garbage::find_coupled_wrappers() {
  for (const NodeId native : graph_.coupled) {
    if (index_[native] == no_node) continue;
    for (NodeId target : graph_.references.of(native)) {
      if (index_[target] == no_node || graph_.type_of(target).kind != NodeKind::python) continue;
      const Row row = graph_.references.of(target);
      if (std::find(row.begin(), row.end(), native) == row.end()) continue;
      wrapper_of_[index_[native]] = index_[target];
      break;
    }
  }
}

void Garbage::find_kept_wrappers() {
  Buffer<uint8_t> has_owner;
  has_owner.assign_zero(size());
  for (const auto& [wrapper, hidden] : graph_.kept_wrappers) {
    if (index_[wrapper] == no_node) continue;
    const Row row = graph_.references.of(wrapper);
    const auto native = std::find_if(row.begin(), row.end(), [&](NodeId target) {
      return graph_.type_of(target).kind != NodeKind::python && index_[target] != no_node;
    });
    if (native == row.end()) continue;
    if (is_borrowed(graph_, wrapper, *native)) {
      taken_.insert(graph_.references.first[wrapper] + static_cast<size_t>(native - row.begin()));
      continue;
    }
    kept_by_[index_[*native]] = index_[wrapper];
    const Row owners = graph_.referrers.of(*native);
    const bool is_owned =
        std::any_of(owners.begin(), owners.end(), [self = wrapper](NodeId owner) { return owner != self; });
    if (hidden != 0 && !is_owned) ++count_[index_[wrapper]];  // by an owner that the graph does not know
  }
}

bool is_borrowed(const Graph& graph, NodeId wrapper, NodeId native) {
  const Row row = graph.references.of(native);
  return graph.kept_wrappers.find(wrapper) != nullptr && std::find(row.begin(), row.end(), wrapper) != row.end();
}

// Leave out the references that the collector clears from wrappers that survive it.
void Garbage::leave_out_taken() {
  if (graph_.cleared_dicts.begin() == graph_.cleared_dicts.end()) return;
  for (const uint32_t wrapper : PrematureClear(graph_, nodes, index_, count_, kept_by_).run()) {
    const size_t edge = graph_.references.first[nodes[wrapper]] + *graph_.cleared_dicts.find(nodes[wrapper]);
    taken_.insert(edge);
    const uint32_t target = index_[graph_.references.targets[edge]];
    if (target != no_node) --count_[target];  // otherwise a root holds the target
  }
}

void Garbage::add(uint32_t to, EdgeKind kind) {
  references.targets.push_back(to);
  kinds_.push_back(kind);
}

void Garbage::add_row(uint32_t from) {
  references.first.push_back(static_cast<uint32_t>(references.targets.size()));
  const auto own = wrapper_of_.find(from);
  const uint32_t* kept = graph_.kept_wrappers.find(nodes[from]);
  const Row row = graph_.references.of(nodes[from]);
  size_t visible = is_collectable(from) ? graph_.visible_of(nodes[from]).size() : 0;
  if (kept != nullptr) visible += *kept;
  for (size_t i = 0; i < row.size(); ++i) {
    const uint32_t to = index_[row.first[i]];
    if (!taken_.empty() && taken_.count(graph_.references.first[nodes[from]] + i) != 0) continue;
    if (to == no_node || (own != wrapper_of_.end() && own->second == to)) continue;
    add(to, i < visible ? EdgeKind::visible : EdgeKind::hidden);
    ++(i < visible ? visible_ : known_)[to];
    add_owner(from, to);
  }
}

// An owner of a native object owns its wrapper, too, or keeps it alive.
void Garbage::add_owner(uint32_t from, uint32_t native) {
  const auto coupled = wrapper_of_.find(native);
  if (coupled != wrapper_of_.end() && coupled->second != from) {
    add(coupled->second, EdgeKind::coupled);
    has_coupled_[coupled->second] = 1;
  }
  const auto kept = kept_by_.find(native);
  if (kept != kept_by_.end() && kept->second != from) add(kept->second, EdgeKind::uncounted);
}

uint32_t Garbage::wrapper_kept_by(uint32_t native) const {
  const auto coupled = wrapper_of_.find(native);
  if (coupled != wrapper_of_.end()) return coupled->second;
  const auto kept = kept_by_.find(native);
  return kept != kept_by_.end() ? kept->second : no_node;
}

void Garbage::drop_redundant_hidden() {
  uint32_t kept = 0;
  for (uint32_t from = 0, edge = 0; from < size(); ++from) {
    references.first[from] = kept;
    for (; edge < references.first[from + 1]; ++edge) {
      const uint32_t to = references.targets[edge];
      const bool is_counted = kinds_[edge] == EdgeKind::hidden || kinds_[edge] == EdgeKind::coupled;
      if (is_counted && is_collectable(to) && hidden(to) <= 0) continue;
      references.targets[kept] = to;
      kinds_[kept++] = kinds_[edge];
    }
  }
  references.first[size()] = kept;
  references.targets.resize(kept);
}

}  // namespace gradlife::heap
