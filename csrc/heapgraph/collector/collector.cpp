#include "heapgraph/collector/collector.hpp"

#include <algorithm>

#include "heapgraph/analysis/components.hpp"
#include "heapgraph/collector/garbage.hpp"
#include "heapgraph/collector/residual_refs.hpp"

namespace gradlife::heap {
namespace {

constexpr size_t most_legs = 16;

// The unreachable objects that survive all runs of the collector. A surviving object keeps its referents, so a cycle
// survives as a whole: if one of its counts is higher than the graph explains, if a reference stays invisible to the
// collector after all that leads to the cycle is gone, or if the collector sees none of it.
class Survivors {
 public:
  explicit Survivors(const Garbage& garbage)
      : garbage_(garbage), cycles_(find_components(garbage.references)), remainders_(garbage, cycles_) {
    alive_.assign_zero(garbage.size());
  }
  void run() {
    keep_unseen_cycles();
    keep_native_cycles();
    keep_what_they_refer_to();
    by_cycle_ = found_.size();
    keep_unexplained();
    keep_what_they_refer_to();
  }
  bool is_alive(uint32_t i) const { return alive_[i] != 0; }
  // The nodes that a cycle keeps alive, whatever else holds them.
  Row by_cycle() const { return {found_.begin(), found_.begin() + by_cycle_}; }
  // Counts references to a node that no traverse shows now or later.
  int64_t unseen(uint32_t i) const {
    return cycles_.of_node[i] != Components::none ? remainders_.unseen(i) : garbage_.unseen(i);
  }

 private:
  void keep(uint32_t i) {
    if (alive_[i] != 0) return;
    alive_[i] = 1;
    found_.push_back(i);
  }
  void keep_unexplained() {
    for (uint32_t i = 0; i < garbage_.size(); ++i) {
      if (garbage_.unexplained(i) <= 0) continue;
      keep(i);
      const uint32_t wrapper = garbage_.wrapper_kept_by(i);
      if (wrapper != no_node) keep(wrapper);
    }
  }
  // Whether an edge within a cycle keeps a collectable object although the collector does not see the edge.
  bool is_leg(size_t edge) const {
    const uint32_t to = garbage_.references.targets[edge];
    const Garbage::Sort sort = garbage_.sort(edge);
    if (sort == Garbage::Sort::keeping) return true;
    return sort != Garbage::Sort::seen && garbage_.is_collectable(to) && remainders_.unseen(to) > 0;
  }
  void keep_unseen_cycles() {
    for (uint32_t from = 0; from < garbage_.size(); ++from)
      for (size_t edge = garbage_.references.first[from]; edge < garbage_.references.first[from + 1]; ++edge) {
        const uint32_t to = garbage_.references.targets[edge];
        if (remainders_.is_within(from, to) && is_leg(edge)) keep(to);
      }
  }
  void keep_native_cycles() {
    Edges native;
    for (uint32_t from = 0; from < garbage_.size(); ++from) {
      native.first.push_back(static_cast<uint32_t>(native.targets.size()));
      if (garbage_.is_collectable(from)) continue;
      for (uint32_t to : garbage_.references.of(from))
        if (!garbage_.is_collectable(to)) native.targets.push_back(to);
    }
    native.first.push_back(static_cast<uint32_t>(native.targets.size()));
    const Components cycles = find_components(native);
    for (uint32_t i = 0; i < garbage_.size(); ++i)
      if (cycles.of_node[i] != Components::none) keep(i);
  }
  void keep_what_they_refer_to() {
    for (; next_ < found_.size(); ++next_)
      for (uint32_t to : garbage_.references.of(found_[next_])) keep(to);
  }

  const Garbage& garbage_;
  const Components cycles_;
  const Remainders remainders_;
  Buffer<uint8_t> alive_;
  Buffer<uint32_t> found_;
  size_t next_ = 0, by_cycle_ = 0;  // among those found: the next to expand, and how many a cycle keeps
};

std::vector<NodeId> unseen_referrers(const Graph& graph, NodeId node) {
  std::vector<NodeId> found;
  for (NodeId referrer : graph.referrers.of(node)) {
    if (!found.empty() && found.back() == referrer) continue;  // they are sorted: visit each once
    const Row all = graph.references.of(referrer);
    const Row seen = is_collectable(graph, referrer) ? graph.visible_of(referrer) : Row{all.first, all.first};
    if (std::find(seen.last, all.last, node) != all.last) found.push_back(referrer);
  }
  return found;
}

}  // namespace

const char* lifetime_name(Lifetime lifetime) {
  static constexpr const char* names[] = {"held", "gc", "never"};
  return names[static_cast<size_t>(lifetime)];
}

Fates::Fates(const Graph& graph, const PathTree& paths, const RefCount& count) : graph_(graph) {
  lifetimes_.assign_zero(graph.size());
  const Garbage garbage(graph, paths, count);
  Survivors survivors(garbage);
  survivors.run();
  for (uint32_t i = 0; i < garbage.size(); ++i) {
    lifetimes_[garbage.nodes[i]] = static_cast<uint8_t>(survivors.is_alive(i) ? Lifetime::never : Lifetime::gc);
    if (garbage.unexplained(i) > 0) unexplained_.insert(garbage.nodes[i]);
    if (garbage.is_collectable(i) && survivors.unseen(i) > 0) unseen_[garbage.nodes[i]] = survivors.unseen(i);
  }
  for (uint32_t i : survivors.by_cycle()) lifetimes_[garbage.nodes[i]] |= by_cycle;
}

// Searches backwards from the object to nodes from which the collector starts: each of them is enough to keep it.
Fate Fates::of(NodeId node) const {
  Fate fate{lifetime(node), {}, {}};
  if (fate.lifetime != Lifetime::never) return fate;
  if ((lifetimes_[node] & by_cycle) == 0) fate.lead = lead_to(node);
  Buffer<uint8_t> is_found;
  is_found.assign_zero(graph_.size());
  Buffer<NodeId> found;
  found.push_back(node);
  is_found[node] = 1;
  for (size_t next = 0; next < found.size() && fate.legs.size() < most_legs; ++next) {
    const NodeId at = found[next];
    const auto unseen = unseen_.find(at);
    if (unseen != unseen_.end()) {
      fate.legs.push_back({at, unseen->second, unseen_referrers(graph_, at)});
      continue;
    }
    for (NodeId referrer : graph_.referrers.of(at)) {
      if (is_found[referrer] != 0 || lifetime(referrer) != Lifetime::never) continue;
      is_found[referrer] = 1;
      found.push_back(referrer);
    }
  }
  return fate;
}

// Returns a shortest path from an object with unexplained references; only the node if it has some itself.
std::vector<NodeId> Fates::lead_to(NodeId node) const {
  std::unordered_map<NodeId, NodeId> next = {{node, no_node}};
  std::vector<NodeId> found = {node};
  for (size_t i = 0; i < found.size(); ++i) {
    if (unexplained_.count(found[i]) != 0) {
      std::vector<NodeId> lead;
      for (NodeId at = found[i]; at != no_node; at = next.at(at)) lead.push_back(at);
      return lead;
    }
    for (NodeId referrer : graph_.referrers.of(found[i]))
      if (lifetime(referrer) == Lifetime::never && next.emplace(referrer, found[i]).second) found.push_back(referrer);
  }
  return {};
}

}  // namespace gradlife::heap
