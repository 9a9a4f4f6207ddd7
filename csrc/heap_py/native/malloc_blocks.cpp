#include <algorithm>
#include <cstdlib>

#include "heap_py/native/blocks.hpp"

namespace gradlife::heap {
namespace {

constexpr uint64_t largest_cached = 0x420;
constexpr size_t sample_every = 32;
constexpr size_t words_at_once = 8192;

Address address_of(const void* pointer) { return static_cast<Address>(reinterpret_cast<uintptr_t>(pointer)); }

}  // namespace

uint64_t find_cache_key() {
  constexpr uint64_t mark = 0x6772'6164'6c69'6665;
  const MemoryReader reader;
  for (int tries = 0; tries < 2; ++tries) {
    void* volatile block = std::malloc(40);
    if (block == nullptr) return 0;
    static_cast<volatile uint64_t*>(block)[1] = mark;
    const Address address = address_of(block);
    std::free(block);
    uint64_t key = 0;
    if (reader.read_word(address + sizeof key, &key) && key != mark) return key;
  }
  return 0;
}

MallocBlocks::MallocBlocks(const MemoryMap& map, ScanArena& arena)
    : map_(map), arena_(arena), heaps_(arena.memory()), words_(arena.memory()) {
  heaps_.reserve(256);  // pointers to them must stay valid
  words_.resize(words_at_once);
  cache_key_ = find_cache_key();
}

std::optional<Block> MallocBlocks::find(Address address) {
  const Heap* heap = heap_of(address);
  return heap != nullptr ? find_in(*heap, address) : find_mapped(address);
}

// --- heaps

const MallocBlocks::Heap* MallocBlocks::heap_of(Address address) {
  for (const Heap& heap : heaps_)
    if (heap.contains(address)) return heap.is_whole ? &heap : nullptr;
  if (heaps_.size() == heaps_.capacity()) return nullptr;
  const Mapping* mapping = map_.find(address);
  if (mapping == nullptr) return nullptr;
  if (mapping->what == Mapping::What::heap) {
    const Heap& heap = walk(*mapping, (mapping->first + 15) & ~Address{15});
    return heap.is_whole ? &heap : nullptr;
  }
  const MallocHeap range = find_arena_heap(reader_, address);
  return range.contains(address) ? walk_arena(range) : nullptr;
}

// Finds the first chunk: the one from which a walk ends exactly at the heap's end.
const MallocBlocks::Heap* MallocBlocks::walk_arena(const MallocHeap& range) {
  const AddressRange candidates = first_chunks(reader_, range);
  Heap heap(arena_);
  static_cast<AddressRange&>(heap) = range;
  for (Address at = candidates.first; at < candidates.last && !heap.is_whole; at += 16)
    heap.is_whole = walk_chunks(heap, at);
  heaps_.push_back(std::move(heap));
  return heaps_.back().is_whole ? &heaps_.back() : nullptr;
}

// The main heap may have grown or shrunk since the map was read, so a walk may end anywhere after its first chunks.
const MallocBlocks::Heap& MallocBlocks::walk(AddressRange range, Address first_chunk) {
  Heap heap(arena_);
  static_cast<AddressRange&>(heap) = range;
  heap.is_whole = walk_chunks(heap, first_chunk) || !heap.samples.empty();
  heaps_.push_back(std::move(heap));
  return heaps_.back();
}

bool MallocBlocks::walk_chunks(Heap& heap, Address first_chunk) {
  heap.samples.clear();
  ChunkWalk walk(reader_, words_, heap, first_chunk);
  Chunk chunk;
  for (size_t count = 0; walk.next(chunk); ++count)
    if (count % sample_every == 0) heap.samples.push_back(static_cast<uint32_t>((chunk.at - heap.first) / 16));
  return walk.is_whole();
}

// --- chunks

std::optional<Block> MallocBlocks::find_in(const Heap& heap, Address address) const {
  const auto place = static_cast<uint64_t>((address - 8 - heap.first) / 16);
  auto sample = std::upper_bound(heap.samples.begin(), heap.samples.end(), place);
  if (sample == heap.samples.begin()) return std::nullopt;
  Address at = heap.first + uint64_t{*--sample} * 16;
  for (size_t steps = 0; steps < size_t{1} << 16; ++steps) {
    uint64_t size, next_size = 0;
    if (!reader_.read_word(at + 8, &size) || (size & chunk_size_mask) < min_chunk) return std::nullopt;
    const uint64_t bytes = size & chunk_size_mask;
    if (address >= at + bytes + 8) {  // the word before the next chunk's size belongs to this one
      at += bytes;
      continue;
    }
    if (address < at + chunk_header) return std::nullopt;  // malloc's own header
    const bool is_last = at + bytes >= heap.last || !reader_.read_word(at + bytes + 8, &next_size);
    Block block;
    block.first = at + chunk_header;
    block.last = at + bytes + 8;
    block.is_free = is_last || (next_size & is_previous_used) == 0 || is_cached(block.first, bytes);
    return block;
  }
  return std::nullopt;
}

// Whether the block is free but kept as if in use: marked with the key, or in a list whose links are XORed with their
// address.
bool MallocBlocks::is_cached(Address block, uint64_t chunk_bytes) const {
  uint64_t words[2];
  if (chunk_bytes > largest_cached || !reader_.read(block, words, sizeof words)) return false;
  const uint64_t next = words[0] ^ (block >> 12);
  if (cache_key_ != 0 && words[1] == cache_key_) return true;
  if (chunk_bytes > 0x80) return false;
  if (next == 0) return true;
  uint64_t size;
  return next % 16 == 0 && looks_like_pointer(next) && reader_.read_word(next + 8, &size) &&
         (size & chunk_size_mask) == chunk_bytes;
}

// A large block has a mapping, or a part of one: its header is at the start of a page.
std::optional<Block> MallocBlocks::find_mapped(Address address) const {
  constexpr uint64_t page = 4096, max_pages = 1 << 14;
  const Mapping* mapping = map_.find(address);
  if (mapping == nullptr || mapping->what != Mapping::What::anonymous) return std::nullopt;
  Address at = address & ~(page - 1);
  for (uint64_t i = 0; i < max_pages && at >= mapping->first; ++i, at -= page) {
    uint64_t size;
    if (!reader_.read_word(at + 8, &size)) return std::nullopt;
    const uint64_t bytes = size & chunk_size_mask;
    const bool is_header = (size & 7) == is_mapped_chunk && bytes >= page && bytes % page == 0;
    if (!is_header || address >= at + bytes || at + bytes > mapping->last) continue;
    if (address < at + chunk_header) return std::nullopt;
    Block block;
    block.first = at + chunk_header;
    block.last = at + bytes;
    return block;
  }
  return std::nullopt;
}

}  // namespace gradlife::heap
