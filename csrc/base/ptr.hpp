// Shared ownership: a control block with a strong and a weak count, and pointers to the counted object.
//
// Death is never recursive: an object without owners is put on a list of the thread that released it, and the outermost
// release empties that list, so a chain of a million nodes dies on a small stack.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gradlife {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  uint32_t use_count() const { return strong_.load(std::memory_order_acquire); }
  uint32_t weak_count() const { return weak_.load(std::memory_order_acquire) - (use_count() != 0 ? 1 : 0); }

  void retain() {
    if (strong_.fetch_add(1, std::memory_order_relaxed) == 1 && coupled_) on_shared();
  }
  void release() {
    const uint32_t before = strong_.fetch_sub(1, std::memory_order_acq_rel);
    if (before == 2 && coupled_) on_unique();
    if (before == 1) bury(this);
  }
  bool try_retain();  // for weak pointers: false once the last owner is gone
  void weak_retain() { weak_.fetch_add(1, std::memory_order_relaxed); }
  void weak_release() {
    if (weak_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~RefCounted() = default;
  virtual void dispose() = 0;  // the last owner is gone: release everything held
  virtual void on_shared() {}  // 1 -> 2 owners; called only if coupled_
  virtual void on_unique() {}  // 2 -> 1 owners; the same
  bool coupled_ = false;  // whether a Python wrapper is one of the owners, and is kept alive while there are others

 private:
  static void bury(RefCounted* dead);
  friend struct Graveyard;
  std::atomic<uint32_t> strong_{1};
  std::atomic<uint32_t> weak_{1};
  RefCounted* next_dead_ = nullptr;
};

// Owns a T. `steal` takes over a reference, `share` adds one.
template <class T>
class Ptr {
 public:
  Ptr() = default;
  Ptr(std::nullptr_t) {}
  static Ptr steal(T* object) { return Ptr(object); }
  static Ptr share(T* object) {
    if (object != nullptr) object->retain();
    return Ptr(object);
  }
  Ptr(const Ptr& other) : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  template <class U>
  Ptr(Ptr<U>&& other) noexcept : object_(other.detach()) {}
  Ptr(Ptr&& other) noexcept : object_(other.detach()) {}
  Ptr& operator=(Ptr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ptr() { reset(); }
  void reset() {
    T* object = detach();
    if (object != nullptr) object->release();
  }
  T* detach() {
    T* object = object_;
    object_ = nullptr;
    return object;
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ptr& other) const { return object_ == other.object_; }
  bool operator!=(const Ptr& other) const { return object_ != other.object_; }

 private:
  explicit Ptr(T* object) : object_(object) {}
  T* object_ = nullptr;
};

inline void record_birth(const RefCounted&) {}  // overloaded for objects whose births are events

template <class T, class... Args>
Ptr<T> make(Args&&... args) {
  Ptr<T> object = Ptr<T>::steal(new T(std::forward<Args>(args)...));
  record_birth(*object);
  return object;
}

template <class T>
class WeakPtr {
 public:
  WeakPtr() = default;
  explicit WeakPtr(T* object) : object_(object) {
    if (object_ != nullptr) object_->weak_retain();
  }
  WeakPtr(const WeakPtr& other) : WeakPtr(other.object_) {}
  WeakPtr(WeakPtr&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  WeakPtr& operator=(WeakPtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~WeakPtr() {
    if (object_ != nullptr) object_->weak_release();
  }
  Ptr<T> lock() const { return object_ != nullptr && object_->try_retain() ? Ptr<T>::steal(object_) : Ptr<T>(); }
  bool is_expired() const { return object_ == nullptr || object_->use_count() == 0; }

 private:
  T* object_ = nullptr;
};

}  // namespace gradlife
