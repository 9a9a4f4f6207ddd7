// The place in memory where the saved slots of a node lie.
//
// A raw handle of a saved slot is, in PyTorch 1.10 to 2.13, a pointer into the node that nobody keeps. When the node
// dies its memory is handed to the next node of that size, and the handle reads and changes the slot of that stranger.
// Here a place stands for that memory, so that a handle goes astray in the same way without touching anything freed:
// vacant places are given out again last in, first out, as the C library does.
#pragma once

#include <cstddef>
#include <list>

#include "engine/graph/node.hpp"

namespace gradlife {

class SlotPlace final : public RefCounted {
 public:
  explicit SlotPlace(Node& tenant);
  // The node that lies here now, or empty: freed memory.
  NodePtr tenant() const;

 protected:
  void dispose() override;

 private:
  friend class NodeMemory;
  WeakPtr<Node> tenant_;
  const Node* key_;              // the tenant; nullptr: vacant
  size_t size_;                  // of the node in bytes
  size_t above_ = 0;             // vacant: blocks of that size that were freed later and are given out before
  std::list<SlotPlace*> entry_;  // of the list of vacant places, while it is in none
  std::list<SlotPlace*>::iterator vacancy_;
};

// The place where a live node lies; one place as long as somebody holds it.
Ptr<SlotPlace> place_of(Node& node);

}  // namespace gradlife
