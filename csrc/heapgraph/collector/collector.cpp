#include "heapgraph/collector/collector.hpp"

#include <algorithm>

#include "heapgraph/analysis/components.hpp"
#include "heapgraph/collector/garbage.hpp"
#include "heapgraph/collector/residual_refs.hpp"

namespace gradlife::heap {
namespace {

constexpr size_t max_uncollectable = 16;

// Finds the unreachable objects that survive every run of the collector. An object survives
// 1. if an edge in its cycle is hidden from the collector, and stays hidden when everything outside the cycle is freed;
// 2. if the collector tracks no object of its cycle;
// 3. if it has unexplained references;
// 4. if a survivor refers to it.
class Survivors {
 public:
  explicit Survivors(const Garbage& garbage)
      : garbage_(garbage), cycles_(find_components(garbage.references)), residual_(garbage, cycles_) {
    alive_.assign_zero(garbage.size());
  }
  void run() {
    keep_hidden_cycles();
    keep_untracked_cycles();
    keep_referents();
    kept_by_cycles_ = found_.size();
    keep_unexplained();
    keep_referents();
  }
  bool is_alive(uint32_t i) const { return alive_[i] != 0; }
  // Return the survivors for reasons 1 and 2, and all that these refer to.
  Row kept_by_cycles() const { return {found_.begin(), found_.begin() + kept_by_cycles_}; }
  // The number of hidden references to an object; for one in a cycle, those left when all outside the cycle is freed.
  int64_t hidden(uint32_t i) const {
    return cycles_.of_node[i] != Components::none ? residual_.hidden(i) : garbage_.hidden(i);
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
  // Whether an edge within a cycle keeps its target alive without being visible to the collector.
  bool is_hidden_but_keeps(size_t edge) const {
    const uint32_t to = garbage_.references.targets[edge];
    const Garbage::EdgeKind kind = garbage_.kind_of(edge);
    if (kind == Garbage::EdgeKind::uncounted) return true;
    return kind != Garbage::EdgeKind::visible && garbage_.is_collectable(to) && residual_.hidden(to) > 0;
  }
  void keep_hidden_cycles() {
    for (uint32_t from = 0; from < garbage_.size(); ++from)
      for (size_t edge = garbage_.references.first[from]; edge < garbage_.references.first[from + 1]; ++edge) {
        const uint32_t to = garbage_.references.targets[edge];
        if (residual_.is_within(from, to) && is_hidden_but_keeps(edge)) keep(to);
      }
  }
  void keep_untracked_cycles() {
    Edges untracked;
    for (uint32_t from = 0; from < garbage_.size(); ++from) {
      untracked.first.push_back(static_cast<uint32_t>(untracked.targets.size()));
      if (garbage_.is_collectable(from)) continue;
      for (uint32_t to : garbage_.references.of(from))
        if (!garbage_.is_collectable(to)) untracked.targets.push_back(to);
    }
    untracked.first.push_back(static_cast<uint32_t>(untracked.targets.size()));
    const Components cycles = find_components(untracked);
    for (uint32_t i = 0; i < garbage_.size(); ++i)
      if (cycles.of_node[i] != Components::none) keep(i);
  }
  void keep_referents() {
    for (; next_ < found_.size(); ++next_)
      for (uint32_t to : garbage_.references.of(found_[next_])) keep(to);
  }

  const Garbage& garbage_;
  const Components cycles_;
  const ResidualRefs residual_;
  Buffer<uint8_t> alive_;
  Buffer<uint32_t> found_;
  size_t next_ = 0;            // index of the next found object whose references are to be followed
  size_t kept_by_cycles_ = 0;  // the number of found objects that a cycle keeps
};

std::vector<NodeId> hidden_referrers(const Graph& graph, NodeId node) {
  std::vector<NodeId> found;
  for (NodeId referrer : graph.referrers.of(node)) {
    if (!found.empty() && found.back() == referrer) continue;  // referrers are sorted: skip repetitions
    const Row all = graph.references.of(referrer);             // visible references come first
    const Row visible = is_collectable(graph, referrer) ? graph.visible_of(referrer) : Row{all.first, all.first};
    if (std::find(visible.last, all.last, node) != all.last) found.push_back(referrer);
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
    if (garbage.is_collectable(i) && survivors.hidden(i) > 0) hidden_[garbage.nodes[i]] = survivors.hidden(i);
  }
  for (uint32_t i : survivors.kept_by_cycles()) lifetimes_[garbage.nodes[i]] |= by_cycle;
}

// Walk back from the object to the nearest uncollectable objects. What holds these does not matter: the collector takes
// them for externally held.
Fate Fates::of(NodeId node) const {
  Fate fate{lifetime(node), {}, {}};
  if (fate.lifetime != Lifetime::never) return fate;
  if ((lifetimes_[node] & by_cycle) == 0) fate.native_path = native_path_to(node);
  Buffer<uint8_t> is_found;
  is_found.assign_zero(graph_.size());
  Buffer<NodeId> found;
  found.push_back(node);
  is_found[node] = 1;
  for (size_t next = 0; next < found.size() && fate.uncollectable.size() < max_uncollectable; ++next) {
    const NodeId at = found[next];
    const auto hidden = hidden_.find(at);
    if (hidden != hidden_.end()) {
      fate.uncollectable.push_back({at, hidden->second, hidden_referrers(graph_, at)});
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

// A shortest path to the node from one with unexplained references; the node alone if it has some itself.
std::vector<NodeId> Fates::native_path_to(NodeId node) const {
  std::unordered_map<NodeId, NodeId> next = {{node, no_node}};
  std::vector<NodeId> found = {node};
  for (size_t i = 0; i < found.size(); ++i) {
    if (unexplained_.count(found[i]) != 0) {
      std::vector<NodeId> native_path;
      for (NodeId at = found[i]; at != no_node; at = next.at(at)) native_path.push_back(at);
      return native_path;
    }
    for (NodeId referrer : graph_.referrers.of(found[i]))
      if (lifetime(referrer) == Lifetime::never && next.emplace(referrer, found[i]).second) found.push_back(referrer);
  }
  return {};
}

}  // namespace gradlife::heap
