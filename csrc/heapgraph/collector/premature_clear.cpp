#include "heapgraph/collector/premature_clear.hpp"

#include "heapgraph/collector/garbage.hpp"

namespace gradlife::heap {
namespace {

constexpr int most_runs = 16;

}  // namespace

EarlyRuns::EarlyRuns(const Graph& graph, const Buffer<NodeId>& nodes, const Buffer<uint32_t>& index,
                     const Buffer<int64_t>& count, const std::unordered_map<uint32_t, uint32_t>& kept_by)
    : graph_(graph), nodes_(nodes), index_(index) {
  for (const int64_t references : count) count_.push_back(references);
  for (const auto& [native, wrapper] : kept_by) native_of_[wrapper] = native;
  states_.assign_zero(nodes.size());
  is_gone_.assign_zero(graph.references.targets.size());
}

Buffer<uint32_t> EarlyRuns::run() {
  for (int runs = 0; runs < most_runs; ++runs) {
    const size_t before = dropped_;
    find_garbage();
    for (const uint32_t i : garbage_) take_apart(i);
    let_die();
    if (dropped_ == before) break;
  }
  return std::move(taken_from_);
}

bool EarlyRuns::is_collectable(uint32_t i) const {
  return states_[i] != State::dead && heap::is_collectable(graph_, nodes_[i]);
}

// Whether the wrapper shows the collector nothing, because its native object would keep it.
bool EarlyRuns::is_silent(uint32_t i) const {
  const auto native = native_of_.find(i);
  return native != native_of_.end() && states_[i] == State::alive && count_[native->second] > 1;
}

// Counts the references that the collector sees, which come first.
size_t EarlyRuns::shown(uint32_t i) const {
  const uint32_t* kept = graph_.kept_wrappers.find(nodes_[i]);
  return graph_.visible_of(nodes_[i]).size() + (kept != nullptr && !is_silent(i) ? *kept : 0);
}

template <class Visit>
void EarlyRuns::each_shown(uint32_t i, Visit&& visit) const {
  const size_t first = graph_.references.first[nodes_[i]], last = first + shown(i);
  for (size_t edge = first; edge < last; ++edge) {
    const uint32_t to = index_[graph_.references.targets[edge]];
    if (to != no_node && is_gone_[edge] == 0) visit(to);
  }
}

Buffer<uint8_t> EarlyRuns::find_used() const {
  Buffer<int64_t> unseen;
  for (const int64_t references : count_) unseen.push_back(references);
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    if (is_collectable(i)) each_shown(i, [&](uint32_t to) { --unseen[to]; });
  Buffer<uint8_t> is_used;
  is_used.assign_zero(nodes_.size());
  Buffer<uint32_t> used;
  const auto use = [&](uint32_t i) {
    if (is_used[i] != 0 || !is_collectable(i)) return;
    is_used[i] = 1;
    used.push_back(i);
  };
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    if (unseen[i] > 0) use(i);
  for (size_t next = 0; next < used.size(); ++next) each_shown(used[next], use);
  return is_used;
}

// As the collector does it: an object with more references than the collector saw is in use, with all that it shows.
void EarlyRuns::find_garbage() {
  const Buffer<uint8_t> is_used = find_used();
  garbage_.clear();
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    if (is_used[i] == 0 && is_collectable(i)) garbage_.push_back(i);
}

void EarlyRuns::take_apart(uint32_t i) {
  const size_t first = graph_.references.first[nodes_[i]];
  if (!is_silent(i)) return drop(first, first + shown(i));
  const uint32_t* place = graph_.taken.find(nodes_[i]);
  if (place == nullptr || is_gone_[first + *place] != 0) return;
  taken_from_.push_back(i);
  drop_one(first + *place);
}

void EarlyRuns::drop_one(size_t edge) {
  const uint32_t to = index_[graph_.references.targets[edge]];
  if (is_gone_[edge] != 0 || to == no_node) return;
  is_gone_[edge] = 1;
  ++dropped_;
  if (--count_[to] == 0) unowned_.push_back(to);
}

void EarlyRuns::drop(size_t first, size_t last) {
  for (size_t edge = first; edge < last; ++edge) drop_one(edge);
}

void EarlyRuns::let_die() {
  while (!unowned_.empty()) {
    const uint32_t i = unowned_.back();
    unowned_.pop_back();
    if (states_[i] != State::dead) die(i);
  }
}

// A dead wrapper that its native object keeps is owned by the native object from then on.
void EarlyRuns::die(uint32_t i) {
  const bool is_kept = is_silent(i);
  const size_t first = graph_.references.first[nodes_[i]], last = graph_.references.first[nodes_[i] + 1];
  if (is_kept) {
    const uint32_t native = native_of_[i];
    states_[i] = State::owned;
    count_[i] = 1;
    owned_by_[native] = i;
    for (size_t edge = first; edge < last; ++edge)
      if (index_[graph_.references.targets[edge]] == native) drop_one(edge);
    return;
  }
  states_[i] = State::dead;
  drop(first, last);
  const auto wrapper = owned_by_.find(i);
  if (wrapper != owned_by_.end() && --count_[wrapper->second] == 0) unowned_.push_back(wrapper->second);
}

}  // namespace gradlife::heap
