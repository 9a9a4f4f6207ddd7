// The base of every engine object, besides its counts: an id, its policy, and its wrapper in the embedding language.
#pragma once

#include <cstdint>

#include "base/counters.hpp"
#include "base/events.hpp"
#include "base/host.hpp"
#include "base/ptr.hpp"
#include "engine/policy/policy.hpp"

namespace gradlife {

class Managed;

void record_birth(const Managed& object);  // for make(), by the object's own type
void record(EventKind kind, const Managed& object, const char* detail = nullptr);

// How a reference owns its target, for drawings and the heap graph.
enum class Ownership : uint8_t { strong, weak, borrowed, coupled };
const char* ownership_name(Ownership ownership);

class OwnedVisitor {
 public:
  // `index`: position among references with the same label; -1: the only one.
  virtual void managed(const char* label, Managed* target, Ownership ownership, int64_t index = -1) = 0;
  virtual void object(const char* label, Object* target, Ownership ownership) = 0;

 protected:
  ~OwnedVisitor() = default;
};

class Managed : public RefCounted {
 public:
  Managed(Kind kind, Identity identity);
  uint64_t id() const { return id_; }
  Kind kind() const { return kind_; }
  const Policy& policy() const { return *policy_; }
  Identity identity() const { return identity_; }
  virtual const char* name() const = 0;
  // Report every reference this object holds and its ownership. Runs no code of the embedding language.
  virtual void visit_owned(OwnedVisitor& visitor) const = 0;

  // The wrapper, whoever owns it. See csrc/engine_py/wrappers/wrapper.hpp for the protocol of each identity policy.
  Object* wrapper() const { return wrapper_; }
  bool owns_wrapper() const { return owns_wrapper_; }
  void set_wrapper(Object* wrapper) {
    wrapper_ = wrapper;
    coupled_ = wrapper != nullptr && identity_ == Identity::coupled;
  }
  void set_owns_wrapper(bool owns) { owns_wrapper_ = owns; }
  // Whether there are at most `expected` owners, not counting a coupled wrapper that nothing else holds.
  bool has_at_most(uint32_t expected) const;

  // All live objects, newest last, for drawings. Needs the interpreter lock.
  static Managed* first_live();
  Managed* next_live() const { return next_live_; }

 protected:
  ~Managed() override;
  void dispose() final;
  void on_shared() final;
  void on_unique() final;
  virtual void let_go() = 0;  // drop every reference held

 private:
  void unlink_live();
  uint64_t id_;
  const Policy* policy_;
  Object* wrapper_ = nullptr;
  Managed* prev_live_ = nullptr;
  Managed* next_live_ = nullptr;
  Kind kind_;
  Identity identity_;
  bool is_live_ = true;
  bool owns_wrapper_ = false;
};

}  // namespace gradlife
