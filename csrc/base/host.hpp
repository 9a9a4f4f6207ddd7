// The small interface through which the engine reaches the language that embeds it (Python): it can keep an object,
// release it, take the interpreter's lock, and ask whether the interpreter is still alive. csrc/engine never includes
// Python.h.
#pragma once

#include <cstdint>
#include <utility>

namespace gradlife {

// An object of the embedding language. Opaque on purpose.
using Object = void;

struct Host {
  void (*incref)(Object*);
  void (*decref)(Object*);
  bool (*is_alive)();  // false once the interpreter's finalisation has begun
  int (*lock)();       // takes the interpreter lock; pass the token to unlock
  void (*unlock)(int token);
  void* (*suspend)();  // releases the lock that this thread holds; pass the token to resume
  void (*resume)(void* token);
  bool (*is_sole_reference)(Object*);  // whether only the caller holds the object
  void (*empty_wrapper)(Object*);      // makes the wrapper empty, because its impl is gone
  void (*drop_hooks)(Object*);         // leaves this wrapper's hooks to the node that its tensor had until now
};

void install_host(const Host& host);
const Host& host();

// What happens to references that an object still holds when the interpreter is gone.
enum class ExitPolicy : uint8_t { leak, release };

// Takes the interpreter lock for a scope. Cheap if this thread holds it; does nothing once the interpreter is gone.
class Locked {
 public:
  explicit Locked(ExitPolicy exit = ExitPolicy::leak);
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  // False if the interpreter is gone and its objects must be left alone.
  bool may_touch_objects() const { return may_touch_; }

 private:
  bool may_touch_;
  bool locked_;
  int token_ = 0;
};

// Releases the interpreter lock for a scope, so that another thread may work meanwhile.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  void* token_;
};

// An owned reference to an Object. Dropping it takes the lock (a graph may die in a thread that lacks it), and leaves
// the object alone if the interpreter is gone, unless its policy is the broken `release`.
class Handle {
 public:
  Handle() = default;
  static Handle steal(Object* object, ExitPolicy exit = ExitPolicy::leak) { return Handle(object, exit); }
  static Handle borrow(Object* object, ExitPolicy exit = ExitPolicy::leak) {
    if (object != nullptr) host().incref(object);
    return Handle(object, exit);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&& other) noexcept : object_(other.object_), exit_(other.exit_) { other.object_ = nullptr; }
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(exit_, other.exit_);
    return *this;
  }
  ~Handle() { reset(); }
  Object* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  Object* release() {
    Object* object = object_;
    object_ = nullptr;
    return object;
  }
  void reset();

 private:
  Handle(Object* object, ExitPolicy exit) : object_(object), exit_(exit) {}
  Object* object_ = nullptr;
  ExitPolicy exit_ = ExitPolicy::leak;
};

}  // namespace gradlife
