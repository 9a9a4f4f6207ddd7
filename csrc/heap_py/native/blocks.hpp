// The block of memory that contains an address, as its allocator sees it.
#pragma once

#include <optional>

#include "heap_py/memory/malloc_heaps.hpp"

namespace gradlife::heap {

struct Block : AddressRange {
  bool is_free = false;  // freed: its content is stale
  uint64_t bytes() const { return last - first; }
};

// Python's allocator of small objects: pools of blocks of one size.
class PythonBlocks {
 public:
  std::optional<Block> find(Address address) const;

 private:
  MemoryReader reader_;
};

// Returns the key that malloc writes into the second word of blocks in a thread's cache, as seen on one of ours. A full
// cache writes no key; a second call then finds it. 0: there is no cache.
uint64_t find_cache_key();

// malloc's blocks (glibc). A heap's chunks follow each other without a gap, so one walk from its first finds the exact
// chunk of every address, and the next chunk says whether it is in use.
class MallocBlocks {
 public:
  MallocBlocks(const MemoryMap& map, ScanArena& arena);
  std::optional<Block> find(Address address);

 private:
  struct Heap : AddressRange {
    explicit Heap(ScanArena& arena) : samples(arena.memory()) {}
    bool is_whole = false;         // whether the walk reached the end of the heap
    ScanVector<uint32_t> samples;  // every 32nd chunk's start, in units of 16 bytes from the heap's start
  };
  const Heap* heap_of(Address address);
  const Heap& walk(AddressRange range, Address first_chunk);
  bool walk_chunks(Heap& heap, Address first_chunk);
  const Heap* walk_arena(const MallocHeap& range);
  std::optional<Block> find_in(const Heap& heap, Address address) const;
  std::optional<Block> find_mapped(Address address) const;
  bool is_cached(Address block, uint64_t chunk_bytes) const;

  const MemoryMap& map_;
  ScanArena& arena_;
  MemoryReader reader_;
  ScanVector<Heap> heaps_;
  ScanVector<uint64_t> words_;  // words of the piece of a heap that is being walked
  uint64_t cache_key_ = 0;      // malloc writes it into blocks in a thread's cache
};

}  // namespace gradlife::heap
