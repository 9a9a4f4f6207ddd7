#include "heapgraph/collector/residual_refs.hpp"

namespace gradlife::heap {

ResidualRefs::ResidualRefs(const Garbage& garbage, const Components& cycles) : garbage_(garbage), cycles_(cycles) {
  for (uint32_t i = 0; i < garbage.size(); ++i) hidden_.push_back(garbage.hidden(i));
  drop_refs_from_outside();
  drop_latent_refs();
}

void ResidualRefs::drop_refs_from_outside() {
  enum : uint8_t { none, outside, inside };
  Buffer<uint8_t> coupled;
  coupled.assign_zero(garbage_.size());
  for (uint32_t from = 0; from < garbage_.size(); ++from) {
    for (size_t edge = garbage_.references.first[from]; edge < garbage_.references.first[from + 1]; ++edge) {
      const uint32_t to = garbage_.references.targets[edge];
      if (garbage_.kind_of(edge) == Garbage::EdgeKind::coupled && coupled[to] != inside)
        coupled[to] = is_within(from, to) ? inside : outside;
      if (garbage_.kind_of(edge) == Garbage::EdgeKind::hidden && !is_within(from, to)) --hidden_[to];
    }
  }
  for (uint32_t i = 0; i < garbage_.size(); ++i)
    if (coupled[i] == outside) --hidden_[i];
}

void ResidualRefs::drop_latent_refs() {
  for (const LatentReference& latent : garbage_.graph().latent) {
    const uint32_t wrapper = garbage_.index_of(latent.wrapper), target = garbage_.index_of(latent.target);
    if (wrapper != no_node && target != no_node && is_within(wrapper, target) &&
        is_shown(latent, cycles_.of_node[target]))
      --hidden_[target];
  }
}

bool ResidualRefs::is_shown(const LatentReference& latent, uint32_t cycle) const {
  return is_alone(latent, 0, cycle) && (latent.between[1] == no_node || is_alone(latent, 1, cycle));
}

// Whether all other owners of a native object on the path are known and outside the cycle.
bool ResidualRefs::is_alone(const LatentReference& latent, size_t nth, uint32_t cycle) const {
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
