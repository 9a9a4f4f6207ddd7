#include "base/managed.hpp"

#include <atomic>

#include "base/events.hpp"

namespace gradlife {
namespace {

uint64_t next_id = 1;
Managed* first = nullptr;
Managed* last = nullptr;

}  // namespace

// The dying of this thread: a first-in-first-out list, emptied by the outermost release.
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

Managed::Managed(Kind kind, Identity identity)
    : id_(next_id++), policy_(current_policy()), prev_live_(last), kind_(kind), identity_(identity) {
  (last != nullptr ? last->next_live_ : first) = this;
  last = this;
  count_live(kind, 1);
}

// One whose constructor failed further down was never disposed of.
Managed::~Managed() {
  if (is_live_) leave_the_living();
}

void Managed::leave_the_living() {
  (prev_live_ != nullptr ? prev_live_->next_live_ : first) = next_live_;
  (next_live_ != nullptr ? next_live_->prev_live_ : last) = prev_live_;
  count_live(kind_, -1);
  is_live_ = false;
}

Managed* Managed::first_live() { return first; }

bool Managed::has_at_most(uint32_t expected) const {
  const uint32_t owners = use_count();
  if (owners <= expected) return true;
  const bool may_discount = owners == expected + 1 && coupled_ && wrapper_ != nullptr;
  return may_discount && host().is_sole_reference(wrapper_);
}

void Managed::on_shared() {
  Locked locked;
  if (locked.may_touch_objects()) host().incref(wrapper_);
}

void Managed::on_unique() {
  Locked locked(policy_->interpreter_exit);
  if (locked.may_touch_objects()) host().decref(wrapper_);
}

void Managed::dispose() {
  Locked locked(policy_->interpreter_exit);
  leave_the_living();
  record(EventKind::destroyed, *this);
  Object* wrapper = wrapper_;
  set_wrapper(nullptr);
  // Emptied in a dying interpreter too: a wrapper that is left there must not point at what is gone.
  if (wrapper != nullptr) host().empty_wrapper(wrapper);
  if (wrapper != nullptr && owns_wrapper_ && locked.may_touch_objects()) host().decref(wrapper);
  owns_wrapper_ = false;
  let_go();
}

void record_birth(const Managed& object) { record(EventKind::created, object); }

const char* ownership_name(Ownership ownership) {
  switch (ownership) {
    case Ownership::strong:
      return "strong";
    case Ownership::weak:
      return "weak";
    case Ownership::borrowed:
      return "borrowed";
    case Ownership::coupled:
      return "coupled";
  }
  return "?";
}

}  // namespace gradlife
