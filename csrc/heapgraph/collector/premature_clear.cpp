#include "heapgraph/collector/premature_clear.hpp"

#include "heapgraph/collector/garbage.hpp"

namespace gradlife::heap {
namespace {

constexpr int max_runs = 16;

}  // namespace

PrematureClear::PrematureClear(const Graph& graph, const Buffer<NodeId>& nodes, const Buffer<uint32_t>& index,
                               const Buffer<int64_t>& count, const std::unordered_map<uint32_t, uint32_t>& kept_by)
    : graph_(graph), nodes_(nodes), index_(index) {
  for (const int64_t references : count) count_.push_back(references);
  for (const auto& [native, wrapper] : kept_by) native_of_[wrapper] = native;
  states_.assign_zero(nodes.size());
  is_gone_.assign_zero(graph.references.targets.size());
}

Buffer<uint32_t> PrematureClear::run() {
  for (int runs = 0; runs < max_runs; ++runs) {
    const size_t before = dropped_;
    find_garbage();
    for (const uint32_t i : garbage_) clear_object(i);
    free_unowned();
    if (dropped_ == before) break;
  }
  return std::move(taken_from_);
}

bool PrematureClear::is_collectable(uint32_t i) const {
  return states_[i] != State::dead && heap::is_collectable(graph_, nodes_[i]);
}

// Whether tp_traverse reports nothing, because the native object has other owners that keep the wrapper.
bool PrematureClear::shows_nothing(uint32_t i) const {
  const auto native = native_of_.find(i);
  return native != native_of_.end() && states_[i] == State::alive && count_[native->second] > 1;
}

// The number of references that tp_traverse reports; they come first in the object's row.
size_t PrematureClear::visible_count(uint32_t i) const {
  const uint32_t* kept = graph_.kept_wrappers.find(nodes_[i]);
  return graph_.visible_of(nodes_[i]).size() + (kept != nullptr && !shows_nothing(i) ? *kept : 0);
}

template <class Visit>
void PrematureClear::each_visible(uint32_t i, Visit&& visit) const {
  const size_t first = graph_.references.first[nodes_[i]], last = first + visible_count(i);
  for (size_t edge = first; edge < last; ++edge) {
    const uint32_t to = index_[graph_.references.targets[edge]];
    if (to != no_node && is_gone_[edge] == 0) visit(to);
  }
}

Buffer<uint8_t> PrematureClear::find_in_use() const {
  Buffer<int64_t> hidden;
  for (const int64_t references : count_) hidden.push_back(references);
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    if (is_collectable(i)) each_visible(i, [&](uint32_t to) { --hidden[to]; });
  Buffer<uint8_t> is_used;
  is_used.assign_zero(nodes_.size());
  Buffer<uint32_t> used;
  const auto use = [&](uint32_t i) {
    if (is_used[i] != 0 || !is_collectable(i)) return;
    is_used[i] = 1;
    used.push_back(i);
  };
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    if (hidden[i] > 0) use(i);
  for (size_t next = 0; next < used.size(); ++next) each_visible(used[next], use);
  return is_used;
}

// As in the collector: an object with more references than were visible is in use, with all objects it leads to.
void PrematureClear::find_garbage() {
  const Buffer<uint8_t> is_used = find_in_use();
  garbage_.clear();
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    if (is_used[i] == 0 && is_collectable(i)) garbage_.push_back(i);
}

void PrematureClear::clear_object(uint32_t i) {
  const size_t first = graph_.references.first[nodes_[i]];
  if (!shows_nothing(i)) return drop(first, first + visible_count(i));
  const uint32_t* place = graph_.cleared_dicts.find(nodes_[i]);
  if (place == nullptr || is_gone_[first + *place] != 0) return;
  taken_from_.push_back(i);
  drop_one(first + *place);
}

void PrematureClear::drop_one(size_t edge) {
  const uint32_t to = index_[graph_.references.targets[edge]];
  if (is_gone_[edge] != 0 || to == no_node) return;
  is_gone_[edge] = 1;
  ++dropped_;
  if (--count_[to] == 0) unowned_.push_back(to);
}

void PrematureClear::drop(size_t first, size_t last) {
  for (size_t edge = first; edge < last; ++edge) drop_one(edge);
}

void PrematureClear::free_unowned() {
  while (!unowned_.empty()) {
    const uint32_t i = unowned_.back();
    unowned_.pop_back();
    if (states_[i] != State::dead) free_object(i);
  }
}

// Free an object, or resurrect a wrapper whose native object has other owners.
void PrematureClear::free_object(uint32_t i) {
  const bool is_kept = shows_nothing(i);
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
