// References of a cycle that the collector still does not see after everything that leads to the cycle is gone.
#pragma once

#include "heapgraph/analysis/components.hpp"
#include "heapgraph/collector/garbage.hpp"

namespace gradlife::heap {

// The collector frees a cycle that it sees as a whole, and what was freed owns nothing any more: in its next run
// another cycle may be seen as a whole. For then a wrapper shows what only it owns now. So each cycle is judged by
// itself, by the references within it: should one that leads to it live on, it lives on for that.
class Remainders {
 public:
  Remainders(const Garbage& garbage, const Components& cycles);

  // References to an object within a cycle that no traverse shows, once all outside of the cycle is gone.
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
