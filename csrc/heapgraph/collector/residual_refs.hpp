// The references of a cycle that are still hidden when everything outside that leads to the cycle is freed.
#pragma once

#include "heapgraph/analysis/components.hpp"
#include "heapgraph/collector/garbage.hpp"

namespace gradlife::heap {

// The collector frees a cycle if all references in it are visible. Freeing it may make references of another cycle
// visible, because a wrapper reports its native object's references once it is the only owner. So each cycle is judged
// alone, by the references within it; if an object that leads to the cycle survives, the cycle survives with it.
class ResidualRefs {
 public:
  ResidualRefs(const Garbage& garbage, const Components& cycles);

  // The number of hidden references to an object of a cycle, when all objects outside the cycle are freed.
  int64_t hidden(uint32_t i) const { return hidden_[i]; }
  bool is_within(uint32_t from, uint32_t to) const {
    return cycles_.of_node[from] != Components::none && cycles_.of_node[from] == cycles_.of_node[to];
  }

 private:
  void drop_refs_from_outside();
  void drop_latent_refs();
  bool is_shown(const LatentReference& latent, uint32_t cycle) const;
  bool is_alone(const LatentReference& latent, size_t nth, uint32_t cycle) const;

  const Garbage& garbage_;
  const Components& cycles_;
  Buffer<int64_t> hidden_;
};

}  // namespace gradlife::heap
