#include "heap_py/memory/malloc_heaps.hpp"

#include <iterator>

#ifdef __linux__
#include <unistd.h>
#endif

namespace gradlife::heap {
namespace {

constexpr uint64_t page = 4096;
constexpr size_t bins_bytes = 0x800;  // an arena is a little longer, depending on glibc's version
constexpr uint64_t most_bytes_of_arena = uint64_t{1} << 44;  // below any address that mmap returns

Address round_up(Address address, uint64_t to) { return (address + to - 1) & ~(to - 1); }

// Finds the end of an arena's own data, whose last five words are: the next arena, the next free one, the number of
// threads, its bytes, its most bytes ever (glibc 2.23 and later).
Address find_arena_end(const MemoryReader& reader, const MallocHeap& heap) {
  uint64_t words[64];
  const Address first = heap.owner + bins_bytes;
  if (!reader.read(first, words, sizeof words)) return 0;
  for (size_t at = 0; at + 5 <= std::size(words); ++at) {
    const uint64_t next = words[at], next_free = words[at + 1], threads = words[at + 2];
    const uint64_t bytes = words[at + 3], most_bytes = words[at + 4];
    const bool are_arenas = looks_like_pointer(next) && (next_free == 0 || looks_like_pointer(next_free));
    const bool are_sizes = bytes % page == 0 && bytes >= heap.last - heap.first && most_bytes % page == 0 &&
                           most_bytes >= bytes && most_bytes < most_bytes_of_arena;
    if (are_arenas && threads < (1 << 20) && are_sizes) return first + (at + 5) * sizeof(uint64_t);
  }
  return 0;
}

}  // namespace

// A heap begins with its arena's address and its own size.
MallocHeap find_arena_heap(const MemoryReader& reader, Address address) {
  MallocHeap heap;
  const Address first = address & ~(MallocHeap::largest_arena - 1);
  uint64_t words[3], probe;
  if (!reader.read(first, words, sizeof words)) return heap;
  const uint64_t bytes = words[2];
  if (!looks_like_pointer(words[0]) || bytes < page || bytes > MallocHeap::largest_arena || bytes % page != 0 ||
      !reader.read_word(words[0], &probe))
    return heap;
  static_cast<AddressRange&>(heap) = {first, first + bytes};
  heap.owner = words[0];
  return heap;
}

void update_size(const MemoryReader& reader, MallocHeap& heap) {
  if (!heap.is_main()) {
    const MallocHeap now = find_arena_heap(reader, heap.first);
    heap.last = std::max(now.last, heap.first);
    return;
  }
#ifdef __linux__
  constexpr uint64_t largest = uint64_t{1} << 40;
  const auto end = static_cast<Address>(reinterpret_cast<uintptr_t>(sbrk(0)));
  if (end > heap.first && end - heap.first < largest) heap.last = end & ~uint64_t{15};
#endif
}

AddressRange first_chunks(const MemoryReader& reader, const MallocHeap& heap) {
  if (heap.is_main()) return {round_up(heap.first, 16), round_up(heap.first, 16) + 16};
  if (!heap.contains(heap.owner)) return {heap.first + 0x20, heap.first + 0x60};
  if (const Address end = find_arena_end(reader, heap); end != 0) return {round_up(end, 16), round_up(end, 16) + 16};
  const Address behind_bins = round_up(heap.owner, 16) + bins_bytes;
  return {behind_bins, behind_bins + 0x200};
}

ScanVector<MallocHeap> find_heaps(const MemoryReader& reader, const MemoryMap& map, ScanArena& arena) {
  ScanVector<MallocHeap> heaps(arena.memory());
  for (const Mapping& mapping : map.all()) {
    if (!mapping.is_writable || !mapping.is_private) continue;
    if (mapping.what == Mapping::What::heap) {
      MallocHeap main;
      static_cast<AddressRange&>(main) = mapping;
      update_size(reader, main);  // the map may be older than its last growth
      heaps.push_back(main);
    }
    if (mapping.what != Mapping::What::anonymous) continue;
    for (Address at = round_up(mapping.first, MallocHeap::largest_arena); at < mapping.last;
         at += MallocHeap::largest_arena) {
      const MallocHeap heap = find_arena_heap(reader, at);
      if (heap.owner != 0) heaps.push_back(heap);
    }
  }
  return heaps;
}

}  // namespace gradlife::heap
