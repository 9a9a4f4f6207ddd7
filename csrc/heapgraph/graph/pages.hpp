// Memory for large arrays: each is mapped separately, so that it is returned to the system at once and the program's
// allocator is not affected. They use huge pages, because lookups in random order would miss the TLB otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "heapgraph/graph/hidden_memory.hpp"

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define GRADLIFE_MAPS_ARRAYS 1
#include <sys/mman.h>
#endif

namespace gradlife::heap {

#ifdef GRADLIFE_MAPS_ARRAYS

constexpr size_t min_mapped_bytes = size_t{128} << 10;  // malloc maps such blocks, too, at least at first
constexpr size_t huge_page_bytes = size_t{2} << 20;
constexpr size_t min_huge_bytes = huge_page_bytes;
constexpr size_t small_page_bytes = size_t{64} << 10;  // or less: Linux has pages of 4, 16 or 64 KiB

inline bool is_mapped_array(size_t bytes) { return bytes >= min_mapped_bytes; }
inline size_t whole_pages(size_t bytes) { return (bytes + small_page_bytes - 1) / small_page_bytes * small_page_bytes; }

// Returns zeroed memory; nullptr: no memory.
inline void* map_array(size_t bytes) {
  const size_t length = whole_pages(bytes);
  const size_t spare = bytes >= min_huge_bytes ? huge_page_bytes : 0;  // to begin at a huge page
  void* found = mmap(nullptr, length + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  if (spare == 0) return found;
  char* first = static_cast<char*>(found);
  const size_t skipped = (huge_page_bytes - reinterpret_cast<uintptr_t>(first) % huge_page_bytes) % huge_page_bytes;
  if (skipped != 0) munmap(first, skipped);
  if (skipped != spare) munmap(first + skipped + length, spare - skipped);
  madvise(first + skipped, length, MADV_HUGEPAGE);  // only a hint: the array also works without it
  return first + skipped;
}

// The capacity to which an array grows, by half or more: large ones by whole huge pages, because otherwise their ends
// would stay in small ones.
inline size_t grown_bytes(size_t bytes) {
  const size_t wanted = bytes + bytes / 2 + 256;
  return wanted < min_huge_bytes ? wanted : (wanted + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
}

inline void unmap_array(void* data, size_t bytes) { munmap(data, whole_pages(bytes)); }

// nullptr: no memory. A large array begins at a huge page, and keeps whole ones when it is moved.
inline void* remap_array(void* data, size_t old_bytes, size_t bytes) {
  const size_t old_length = whole_pages(old_bytes), length = whole_pages(bytes);
  if (length <= old_length || bytes < min_huge_bytes) {
    void* moved = mremap(data, old_length, length, MREMAP_MAYMOVE);
    return moved != MAP_FAILED ? moved : nullptr;
  }
  void* place = map_array(bytes);
  if (place == nullptr) return nullptr;
  if (old_bytes < min_huge_bytes) {
    std::memcpy(place, data, old_bytes);
    munmap(data, old_length);
    return place;
  }
  void* moved = mremap(data, old_length, length, MREMAP_MAYMOVE | MREMAP_FIXED, place);
  if (moved == MAP_FAILED) munmap(place, length);
  return moved != MAP_FAILED ? moved : nullptr;
}

#else

inline bool is_mapped_array(size_t) { return false; }
inline size_t grown_bytes(size_t bytes) { return bytes + bytes / 2 + 256; }
inline void* map_array(size_t) { return nullptr; }
inline void unmap_array(void*, size_t) {}
inline void* remap_array(void*, size_t, size_t) { return nullptr; }

#endif

inline void free_array(void* data, size_t bytes) {
  forget_own(own_address(data));
  if (is_mapped_array(bytes)) return unmap_array(data, bytes);
  wipe(data, bytes);
  std::free(data);
}

// nullptr: no memory.
inline void* allocate_zeros(size_t bytes) {
  void* data = is_mapped_array(bytes) ? map_array(bytes) : std::calloc(1, bytes);
  note_own(own_address(data), bytes);
  return data;
}

// Works like realloc. `old_bytes` is the size that was requested. The old block is wiped.
inline void* resize_array(void* data, size_t old_bytes, size_t bytes) {
  void* fresh = nullptr;
  if (data != nullptr && is_mapped_array(old_bytes) && is_mapped_array(bytes)) {
    fresh = remap_array(data, old_bytes, bytes);
    if (fresh == nullptr) return nullptr;
    forget_own(own_address(data));
  } else {
    fresh = is_mapped_array(bytes) ? map_array(bytes) : std::malloc(bytes);
    if (fresh == nullptr) return nullptr;
    if (data != nullptr) {
      std::memcpy(fresh, data, old_bytes < bytes ? old_bytes : bytes);
      free_array(data, old_bytes);
    }
  }
  note_own(own_address(fresh), bytes);
  return fresh;
}

}  // namespace gradlife::heap
