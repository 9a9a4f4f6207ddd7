// A growing array of plain values. The kernel moves a large array that grows, instead of copying it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "heapgraph/graph/pages.hpp"

namespace gradlife::heap {

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable<T>::value, "moved as bytes");

 public:
  Buffer() = default;
  explicit Buffer(size_t size) { resize(size); }
  Buffer(size_t size, T value) { assign(size, value); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) free_array(data_, bytes());
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }
  size_t bytes() const { return capacity_ * sizeof(T); }

  void push_back(T value) {
    if (size_ == capacity_) reserve(grown_capacity());
    data_[size_++] = value;
  }
  bool try_push_back(T value) noexcept {  // false: no memory
    if (size_ == capacity_ && !try_reserve(grown_capacity())) return false;
    data_[size_++] = value;
    return true;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(size_t size) {  // new elements are not initialised
    reserve(size);
    size_ = size;
  }
  void extend(size_t more) {  // by this number of uninitialised elements
    reserve_more(more);
    size_ += more;
  }
  // Many calls take no longer than one: the capacity grows by a share of itself.
  void reserve_more(size_t more) {
    if (size_ + more > capacity_) reserve(std::max(size_ + more, grown_capacity()));
  }
  void assign(size_t size, T value) {
    resize(size);
    for (size_t i = 0; i < size; ++i) data_[i] = value;
  }
  void assign_zero(size_t size) {
    Buffer fresh;
    fresh.size_ = size;
    fresh.capacity_ = size != 0 ? size : 1;
    fresh.data_ = static_cast<T*>(allocate_zeros(fresh.bytes()));
    if (fresh.data_ == nullptr) throw std::bad_alloc();
    *this = std::move(fresh);
  }
  void reserve(size_t capacity) {
    if (!try_reserve(capacity)) throw std::bad_alloc();
  }
  bool try_reserve(size_t capacity) noexcept {
    if (capacity <= capacity_) return true;
    void* grown = resize_array(data_, bytes(), capacity * sizeof(T));
    if (grown == nullptr) return false;
    data_ = static_cast<T*>(grown);
    capacity_ = capacity;
    return true;
  }
  void shrink() {
    if (size_ == capacity_ || size_ == 0) return;
    void* shrunk = resize_array(data_, bytes(), size_ * sizeof(T));
    if (shrunk == nullptr) return;
    data_ = static_cast<T*>(shrunk);
    capacity_ = size_;
  }
  void release() { *this = Buffer(); }

 private:
  size_t grown_capacity() const { return grown_bytes(bytes()) / sizeof(T); }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace gradlife::heap
