// gradlife's own arrays: they contain addresses of the whole program, and a search of its memory must not take them for
// holders. For the same reason their contents are wiped before the allocator gets them back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>

namespace gradlife::heap {

// All three need the interpreter lock.
void note_own(uint64_t address, size_t bytes) noexcept;  // without memory nothing is noted
void forget_own(uint64_t address) noexcept;
void visit_own(const std::function<void(uint64_t first, uint64_t last)>& visit);  // in order of address

void wipe(void* data, size_t bytes) noexcept;

inline uint64_t own_address(const void* data) { return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(data)); }

// An allocator for standard containers.
template <class T>
struct OwnAllocator {
  using value_type = T;
  OwnAllocator() = default;
  template <class U>
  OwnAllocator(const OwnAllocator<U>&) {}
  T* allocate(size_t count) {
    T* data = static_cast<T*>(::operator new(count * sizeof(T)));
    note_own(own_address(data), count * sizeof(T));
    return data;
  }
  void deallocate(T* data, size_t count) noexcept {
    forget_own(own_address(data));
    wipe(data, count * sizeof(T));
    ::operator delete(data);
  }
  bool operator==(const OwnAllocator&) const { return true; }
  bool operator!=(const OwnAllocator&) const { return false; }
};

}  // namespace gradlife::heap
