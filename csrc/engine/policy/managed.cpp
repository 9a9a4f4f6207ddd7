#include "engine/policy/managed.hpp"

#include <new>

namespace gradlife {
namespace {

uint64_t next_id = 1;
Managed* first = nullptr;
Managed* last = nullptr;

// Some names are built on first use, which allocates. Recording a death must not fail for lack of memory.
const char* name_of(const Managed& object) {
  try {
    return object.name();
  } catch (const std::bad_alloc&) {
    return "(no memory for its name)";
  }
}

}  // namespace

Managed::Managed(Kind kind, Identity identity)
    : id_(next_id++), policy_(current_policy()), prev_live_(last), kind_(kind), identity_(identity) {
  (last != nullptr ? last->next_live_ : first) = this;
  last = this;
  count_live(kind, 1);
}

// An object whose derived constructor threw was never disposed of.
Managed::~Managed() {
  if (is_live_) unlink_live();
}

void Managed::unlink_live() {
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
  unlink_live();
  record(EventKind::destroyed, *this);
  Object* wrapper = wrapper_;
  set_wrapper(nullptr);
  // Even in a dying interpreter, a leftover wrapper must not point at freed memory.
  if (wrapper != nullptr) host().empty_wrapper(wrapper);
  if (wrapper != nullptr && owns_wrapper_ && locked.may_touch_objects()) host().decref(wrapper);
  owns_wrapper_ = false;
  let_go();
}

void record(EventKind kind, const Managed& object, const char* detail) {
  if (!events_enabled()) return;
  const char* name = name_of(object);
  Event& event = append_event();
  event.object = object.id();
  event.name = name;
  event.detail = detail;
  event.strong = object.use_count();
  event.weak = object.weak_count();
  event.kind = kind;
  event.object_kind = object.kind();
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
