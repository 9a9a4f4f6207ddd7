#include "heapgraph/collector.hpp"

#include <algorithm>

#include "heapgraph/components.hpp"
#include "heapgraph/garbage.hpp"

namespace gradlife::heap {
namespace {

constexpr size_t most_legs = 16;

// What lives on among objects that no root reaches, however often the collector runs and whatever goes with what it
// frees. Whoever lives on keeps what it refers to, so a cycle lives as a whole: when a count in it is higher than the
// graph explains, when it has a reference that the collector does not see, or when the collector sees nothing of it.
class Survivors {
 public:
  explicit Survivors(const Garbage& garbage) : garbage_(garbage) { alive_.assign_zero(garbage.size()); }
  Buffer<uint8_t> run() {
    keep_unexplained();
    keep_unseen_cycles();
    keep_native_cycles();
    keep_what_they_refer_to();
    return std::move(alive_);
  }

 private:
  void keep(uint32_t i) {
    if (alive_[i] != 0) return;
    alive_[i] = 1;
    found_.push_back(i);
  }
  void keep_unexplained() {
    for (uint32_t i = 0; i < garbage_.size(); ++i)
      if (garbage_.unexplained(i) > 0) keep(i);
  }
  void keep_unseen_cycles() {
    const Components cycles = find_components(garbage_.references);
    for (uint32_t from = 0; from < garbage_.size(); ++from) {
      if (cycles.of_node[from] == Components::none) continue;
      for (size_t edge = garbage_.references.first[from]; edge < garbage_.references.first[from + 1]; ++edge) {
        const uint32_t to = garbage_.references.targets[edge];
        if (garbage_.is_leg(edge) && cycles.of_node[to] == cycles.of_node[from]) keep(to);
      }
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
    for (size_t next = 0; next < found_.size(); ++next)
      for (uint32_t to : garbage_.references.of(found_[next])) keep(to);
  }

  const Garbage& garbage_;
  Buffer<uint8_t> alive_;
  Buffer<uint32_t> found_;
};

std::vector<NodeId> unseen_referrers(const Graph& graph, NodeId node) {
  std::vector<NodeId> found;
  for (NodeId referrer : graph.referrers.of(node)) {
    if (!found.empty() && found.back() == referrer) continue;  // they come sorted: one look at each
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
  const Buffer<uint8_t> alive = Survivors(garbage).run();
  for (uint32_t i = 0; i < garbage.size(); ++i) {
    lifetimes_[garbage.nodes[i]] = static_cast<uint8_t>(alive[i] != 0 ? Lifetime::never : Lifetime::gc);
    if (garbage.is_collectable(i) && garbage.unseen(i) > 0) unseen_[garbage.nodes[i]] = garbage.unseen(i);
  }
}

// Backwards from the object to what the collector starts from: behind that nothing more is needed to keep it.
Fate Fates::of(NodeId node) const {
  Fate fate{lifetime(node), {}};
  if (fate.lifetime != Lifetime::never) return fate;
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

}  // namespace gradlife::heap
