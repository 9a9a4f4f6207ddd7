// The memory in which a node's saved slots lie, as a raw handle sees it.
//
// In PyTorch 1.10 to 2.13 a raw handle of a saved slot is a pointer into the node and does not keep it alive. When the
// node dies, its memory goes to the next node of that size, and the handle reads and changes that node's slot. Here a
// place stands for that memory, so a handle reaches the same wrong node without touching freed memory. Vacant places
// are reused last in, first out, as in the C library.
#pragma once

#include <cstddef>
#include <list>

#include "engine/graph/node.hpp"

namespace gradlife {

class SlotPlace final : public RefCounted {
 public:
  explicit SlotPlace(Node& tenant);
  // Return the node that lies here now; empty for freed memory.
  NodePtr tenant() const;

 protected:
  void dispose() override;

 private:
  friend class NodeMemory;
  WeakPtr<Node> tenant_;
  const Node* key_;              // the node here; nullptr: vacant
  size_t size_;                  // of the node in bytes
  size_t above_ = 0;             // vacant: blocks of that size freed later and so reused earlier
  std::list<SlotPlace*> entry_;  // of the list of vacant places, while it is in none
  std::list<SlotPlace*>::iterator vacancy_;
};

// Return a live node's place; the same object while anyone holds it.
Ptr<SlotPlace> place_of(Node& node);

}  // namespace gradlife
