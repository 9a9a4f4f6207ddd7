#include "heapgraph/collector/residual_refs.hpp"

namespace gradlife::heap {

Remainders::Remainders(const Garbage& garbage, const Components& cycles) : garbage_(garbage), cycles_(cycles) {
  for (uint32_t i = 0; i < garbage.size(); ++i) unseen_.push_back(garbage.unseen(i));
  leave_out_what_leads_in();
  show_what_is_latent();
}

void Remainders::leave_out_what_leads_in() {
  enum : uint8_t { none, outside, inside };
  Buffer<uint8_t> coupled;
  coupled.assign_zero(garbage_.size());
  for (uint32_t from = 0; from < garbage_.size(); ++from) {
    for (size_t edge = garbage_.references.first[from]; edge < garbage_.references.first[from + 1]; ++edge) {
      const uint32_t to = garbage_.references.targets[edge];
      if (garbage_.sort(edge) == Garbage::Sort::coupled && coupled[to] != inside)
        coupled[to] = is_within(from, to) ? inside : outside;
      if (garbage_.sort(edge) == Garbage::Sort::hidden && !is_within(from, to)) --unseen_[to];
    }
  }
  for (uint32_t i = 0; i < garbage_.size(); ++i)
    if (coupled[i] == outside) --unseen_[i];
}

void Remainders::show_what_is_latent() {
  for (const LatentReference& latent : garbage_.graph().latent) {
    const uint32_t wrapper = garbage_.index_of(latent.wrapper), target = garbage_.index_of(latent.target);
    if (wrapper != no_node && target != no_node && is_within(wrapper, target) &&
        is_shown(latent, cycles_.of_node[target]))
      --unseen_[target];
  }
}

bool Remainders::is_shown(const LatentReference& latent, uint32_t cycle) const {
  return is_alone(latent, 0, cycle) && (latent.between[1] == no_node || is_alone(latent, 1, cycle));
}

// Whether the other owners of a native object on the path are all known and outside the cycle.
bool Remainders::is_alone(const LatentReference& latent, size_t nth, uint32_t cycle) const {
  const NodeId native = latent.between[nth];
  if (garbage_.index_of(native) == no_node) return latent.owners[nth] == 0;
  uint32_t outside = 0;
  for (NodeId owner : garbage_.graph().referrers.of(native)) {
    if (owner == latent.wrapper || owner == latent.target || (nth == 1 && owner == latent.between[0])) continue;
    const uint32_t index = garbage_.index_of(owner);
    if (index == no_node || cycles_.of_node[index] == cycle) return false;
    ++outside;
  }
  return outside >= latent.owners[nth];
}

}  // namespace gradlife::heap
