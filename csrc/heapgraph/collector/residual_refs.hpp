// References of a cycle that the collector still does not see once everything that leads to the cycle is gone.
#pragma once

#include "heapgraph/analysis/components.hpp"
#include "heapgraph/collector/garbage.hpp"

namespace gradlife::heap {

// The collector frees a cycle that it sees as a whole. Freed objects own nothing, so in its next run it may see another
// cycle as a whole, because a wrapper then shows what it alone owns. So each cycle is judged by the references within
// it: if another cycle that leads to it survives, it survives for that reason.
class Remainders {
 public:
  Remainders(const Garbage& garbage, const Components& cycles);

  // Counts references to an object of a cycle that no traverse shows once everything outside the cycle is gone.
  int64_t unseen(uint32_t i) const { return unseen_[i]; }
  bool is_within(uint32_t from, uint32_t to) const {
    return cycles_.of_node[from] != Components::none && cycles_.of_node[from] == cycles_.of_node[to];
  }

 private:
  void leave_out_what_leads_in();
  void show_what_is_latent();
  bool is_shown(const LatentReference& latent, uint32_t cycle) const;
  bool is_alone(const LatentReference& latent, size_t nth, uint32_t cycle) const;

  const Garbage& garbage_;
  const Components& cycles_;
  Buffer<int64_t> unseen_;
};

}  // namespace gradlife::heap
