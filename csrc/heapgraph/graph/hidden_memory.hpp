// The arrays that gradlife itself has: they hold the addresses of the whole program, and a search of its memory must
// not take them for holders. What they held is wiped off before the allocator gets it back, for the same reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>

namespace gradlife::heap {

// All three need the interpreter lock.
void note_own(uint64_t address, size_t bytes) noexcept;  // where memory is out, it is not noted
void forget_own(uint64_t address) noexcept;
void visit_own(const std::function<void(uint64_t first, uint64_t last)>& visit);  // in order of address

void wipe(void* data, size_t bytes) noexcept;

inline uint64_t own_address(const void* data) { return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(data)); }

// For the standard's containers.
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
