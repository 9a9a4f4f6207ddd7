// The heaps of glibc's malloc: memory divided into chunks without gaps. Each chunk begins with its size, and the next
// one says whether it is in use.
#pragma once

#include <algorithm>

#include "heap_py/memory/memory_map.hpp"

namespace gradlife::heap {

constexpr uint64_t chunk_header = 16;
constexpr uint64_t min_chunk = 32;
constexpr uint64_t chunk_size_mask = ~uint64_t{7};
constexpr uint64_t is_previous_used = 1;
constexpr uint64_t is_mapped_chunk = 2;

// The main heap, grown by sbrk, has no owner; heaps of arenas are aligned to their largest size.
struct MallocHeap : AddressRange {
  static constexpr uint64_t largest_arena = uint64_t{1} << 26;  // glibc's HEAP_MAX_SIZE
  Address owner = 0;
  bool is_main() const { return owner == 0; }
};

// Returns the arena's heap that contains an address; empty if there is none.
MallocHeap find_arena_heap(const MemoryReader& reader, Address address);
// Reads the size again: heaps grow and shrink at their ends.
void update_size(const MemoryReader& reader, MallocHeap& heap);
// Returns where the first chunk may begin: one of these multiples of 16. It is one place only where the end of the
// arena's own data is recognized; other words there may look like a chunk's size.
AddressRange first_chunks(const MemoryReader& reader, const MallocHeap& heap);
// Returns all heaps; the main one with its current length.
ScanVector<MallocHeap> find_heaps(const MemoryReader& reader, const MemoryMap& map, ScanArena& arena);

struct Chunk {
  Address at;      // the address of its header
  uint64_t bytes;  // the header included
  bool is_previous_used;
  const uint64_t* words;  // from its header on
  size_t word_count;      // the number of words read, at least 4
};

// Walks the chunks of a heap, reading it piece by piece. Other threads may change the heap meanwhile; then the walk may
// lose its place, and `is_whole` is false.
class ChunkWalk {
 public:
  static constexpr size_t words_at_hand = 16;
  ChunkWalk(const MemoryReader& reader, ScanVector<uint64_t>& words, AddressRange heap, Address first)
      : reader_(reader), words_(words), heap_(heap), at_(first) {}
  bool next(Chunk& chunk);                     // false: at the end, or lost
  bool is_whole() const { return is_whole_; }  // the walk reached the heap's end
  Address at() const { return at_; }           // the next chunk

 private:
  bool read_piece();

  const MemoryReader& reader_;
  ScanVector<uint64_t>& words_;
  AddressRange heap_;
  AddressRange piece_;
  Address at_;
  bool has_chunks_ = false;
  bool is_whole_ = false;
};

inline bool ChunkWalk::read_piece() {
  piece_ = {at_, std::min(heap_.last, at_ + words_.size() * sizeof(uint64_t))};
  return reader_.read(piece_.first, words_.data(), piece_.last - piece_.first);
}

inline bool ChunkWalk::next(Chunk& chunk) {
  if (at_ + chunk_header > heap_.last) {
    is_whole_ = has_chunks_;
    return false;
  }
  const Address needed = std::min(heap_.last, at_ + words_at_hand * sizeof(uint64_t));
  if ((!piece_.contains(at_) || needed > piece_.last) && !read_piece()) return false;
  chunk.words = words_.data() + (at_ - piece_.first) / sizeof(uint64_t);
  const uint64_t size = chunk.words[1];
  chunk.at = at_;
  chunk.bytes = size & chunk_size_mask;
  if (chunk.bytes < min_chunk) {  // the fence at the end of a full heap
    is_whole_ = has_chunks_ && heap_.last - at_ <= 64;
    return false;
  }
  if (chunk.bytes % 16 != 0 || chunk.bytes > heap_.last - at_) return false;
  chunk.is_previous_used = (size & is_previous_used) != 0;
  chunk.word_count = std::min<uint64_t>(piece_.last - at_, chunk.bytes + 8) / sizeof(uint64_t);
  has_chunks_ = true;
  at_ += chunk.bytes;
  return true;
}

}  // namespace gradlife::heap
