#include "engine/graph/stale_handles.hpp"

#include <unordered_map>

namespace gradlife {

size_t watched_addresses = 0;

// The occupied places, and by size the free blocks that handles refer to, last freed first.
class NodeMemory {
 public:
  static NodeMemory& instance() {
    static auto* memory = new NodeMemory;
    return *memory;
  }

  SlotPlace* find(const Node& node) const {
    const auto let = let_.find(&node);
    return let != let_.end() ? let->second : nullptr;
  }
  void let(SlotPlace& place, Node& tenant) {
    // Reserve memory for returning the place: a dying node must not allocate.
    vacant_[tenant.memory_size()];
    let_[&tenant] = &place;
    place.tenant_ = WeakPtr<Node>(&tenant);
    place.key_ = &tenant;
  }

  void give_out(Node& node) {
    std::list<SlotPlace*>& vacant = vacant_[node.memory_size()];
    if (vacant.empty()) return;
    SlotPlace& last = *vacant.front();
    if (last.above_ > 0) {
      --last.above_;
      return;
    }
    let(last, node);
    last.entry_.splice(last.entry_.begin(), vacant, vacant.begin());
  }
  void take_back(const Node& node) {
    const auto of_size = vacant_.find(node.memory_size());
    if (of_size == vacant_.end()) return;
    std::list<SlotPlace*>& vacant = of_size->second;
    SlotPlace* place = find(node);
    if (place == nullptr) {
      if (!vacant.empty()) ++vacant.front()->above_;
      return;
    }
    let_.erase(&node);
    place->tenant_ = WeakPtr<Node>();
    place->key_ = nullptr;
    place->above_ = 0;
    vacant.splice(vacant.begin(), place->entry_);
    place->vacancy_ = vacant.begin();
  }
  // The last handle is gone: forget an occupied place; a vacant one becomes a free block above the next.
  void forget(const SlotPlace& place) {
    if (place.key_ != nullptr) {
      let_.erase(place.key_);
      return;
    }
    std::list<SlotPlace*>& vacant = vacant_[place.size_];
    const auto next = vacant.erase(place.vacancy_);
    if (next != vacant.end()) (*next)->above_ += place.above_ + 1;
  }

 private:
  std::unordered_map<const Node*, SlotPlace*> let_;
  std::unordered_map<size_t, std::list<SlotPlace*>> vacant_;
};

void give_out_address(Node& node) { NodeMemory::instance().give_out(node); }
void take_back_address(const Node& node) { NodeMemory::instance().take_back(node); }

SlotPlace::SlotPlace(Node& tenant) : size_(tenant.memory_size()), entry_(1, this) {
  NodeMemory::instance().let(*this, tenant);
  ++watched_addresses;
}

NodePtr SlotPlace::tenant() const {
  const Ptr<Node> node = tenant_.lock();
  return NodePtr::share(node.get());
}

void SlotPlace::dispose() {
  NodeMemory::instance().forget(*this);
  tenant_ = WeakPtr<Node>();
  --watched_addresses;
}

Ptr<SlotPlace> place_of(Node& node) {
  if (SlotPlace* known = NodeMemory::instance().find(node)) return Ptr<SlotPlace>::share(known);
  return make<SlotPlace>(node);
}

}  // namespace gradlife
