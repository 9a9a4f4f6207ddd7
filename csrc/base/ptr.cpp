#include "base/ptr.hpp"

namespace gradlife {

// The dying objects of this thread: a first-in-first-out list, emptied by the outermost release.
struct Graveyard {
  RefCounted* head = nullptr;
  RefCounted* tail = nullptr;
  bool draining = false;

  void push(RefCounted* dead) {
    (tail != nullptr ? tail->next_dead_ : head) = dead;
    tail = dead;
  }
  RefCounted* pop() {
    RefCounted* dead = head;
    head = dead->next_dead_;
    if (head == nullptr) tail = nullptr;
    dead->next_dead_ = nullptr;
    return dead;
  }
  static Graveyard& of_this_thread() {
    thread_local Graveyard graveyard;
    return graveyard;
  }
};

void RefCounted::bury(RefCounted* dead) {
  Graveyard& graveyard = Graveyard::of_this_thread();
  graveyard.push(dead);
  if (graveyard.draining) return;
  graveyard.draining = true;
  while (graveyard.head != nullptr) {
    RefCounted* next = graveyard.pop();
    next->dispose();
    next->weak_release();
  }
  graveyard.draining = false;
}

bool RefCounted::try_retain() {
  uint32_t count = strong_.load(std::memory_order_acquire);
  while (count != 0) {
    if (!strong_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) continue;
    if (count == 1 && coupled_) on_shared();
    return true;
  }
  return false;
}

}  // namespace gradlife
