#include "heap_py/native/census.hpp"

#include <memory>
#include <stdexcept>

#include "heap_py/memory/present_pages.hpp"
#include "heap_py/native/scan.hpp"

namespace gradlife::heap {
namespace {

constexpr uint64_t page = 4096;
constexpr size_t words_at_once = size_t{1} << 15;  // 256 KiB: fits into the second-level cache
constexpr size_t chunks_between_milestones = 256;
constexpr size_t pages_at_once = 512;
constexpr int max_tries = 12;
constexpr uint64_t largest_content = (uint64_t{1} << 48) - 1;  // a field of `Found`
constexpr uint64_t engine_count_offset = 12;                   // offset of `strong_` in csrc/engine/policy/managed.hpp
constexpr uint64_t chunk_flags = 7;

// An object of a class that nothing else uses: if it is not found, the other results are not reliable.
struct Probe {
  virtual ~Probe() = default;
};

// Reads the word at each address, which must be mapped.
void words_at(const std::vector<Address>& addresses, std::vector<uint64_t>& words) {
  words.resize(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i)
    words[i] = *reinterpret_cast<const uint64_t*>(static_cast<uintptr_t>(addresses[i]));
}

size_t mark_of(uint64_t word) { return (word >> 16) & 0xffff; }

}  // namespace

const char* NativeCensus::why_not() { return NativeScan::why_not(); }

NativeCensus::NativeCensus(const TorchLayout* layout)
    : layout_(layout),
      map_(arena_),
      table_(ClassTable::current()),
      words_(words_at_once, 0, arena_.memory()),
      marks_(size_t{1} << 16, 0, arena_.memory()),
      cache_(size_t{1} << cache_bits, CacheEntry(), arena_.memory()),
      found_(arena_.memory()),
      milestones_(arena_.memory()),
      objects_(arena_.memory()),
      blocks_(arena_.memory()) {
  if (why_not() != nullptr) throw std::runtime_error(why_not());
  mark_libraries();
}

void NativeCensus::mark_libraries() {
  for (const LibraryList::Range& range : table_.names().libraries().ranges())
    for (Address at = range.first; at < range.last + 0xffff; at += 0x10000) marks_[mark_of(at)] = 1;
}

void NativeCensus::run() {
  const std::unique_ptr<Probe> probe(new Probe);
  const auto vtable = *reinterpret_cast<const uint64_t*>(probe.get());
  const ScanVector<MallocHeap> heaps = find_heaps(reader_, map_, arena_);
  for (const MallocHeap& heap : heaps) read_heap(heap);
  if (keeps_blocks_) return;
  for (const Mapping& mapping : map_.all())
    if (mapping.what == Mapping::What::anonymous && mapping.is_writable && mapping.is_private)
      read_mapped_blocks(mapping, heaps);
  const uint32_t slot = slot_of(vtable);
  if (slot >= classes_.size() || classes_[slot].count == 0)
    throw std::runtime_error(lost_heaps_ != 0
                                 ? "memory changes too fast for a census: other threads allocate all the time"
                                 : "this process's malloc is not glibc's: its blocks are unknown");
  classes_[slot].count = 0;
}

// --- heaps

void NativeCensus::read_heap(const MallocHeap& heap) {
  const AddressRange candidates = first_chunks(reader_, heap);
  for (Address first = candidates.first; first < candidates.last; first += 16) {
    if (!follow(heap, first)) continue;
    return accept();
  }
  ++lost_heaps_;
}

// After an inconsistent chunk, the walk restarts from an earlier chunk, further back each time.
bool NativeCensus::follow(MallocHeap heap, Address first) {
  found_.clear();
  milestones_.clear();
  milestones_.push_back({first, 0});
  Address furthest = first;
  for (int tries = 0; tries < max_tries;) {
    const Address last = walk(heap, milestones_.back().at);
    if (last == heap.last) return true;
    if (milestones_.size() == 1 && !heap.is_main()) return false;  // its chunks begin elsewhere
    tries = last > furthest ? 0 : tries + 1;
    furthest = std::max(furthest, last);
    update_size(reader_, heap);
    const size_t back = std::min(milestones_.size() - 1, size_t{1} << tries);
    milestones_.resize(milestones_.size() - back);
    found_.resize(milestones_.back().found);
  }
  return false;
}

// Returns where the walk ended: at the heap's end, or where it lost its place.
Address NativeCensus::walk(const MallocHeap& heap, Address from) {
  ChunkWalk walk(reader_, words_, heap, from);
  Chunk chunk;
  bool has_candidate = false;
  for (size_t count = 1; walk.next(chunk); ++count) {
    if (has_candidate && !chunk.is_previous_used) found_.pop_back();
    const size_t known = found_.size();
    look_at(chunk);
    has_candidate = found_.size() != known;
    if (count % chunks_between_milestones == 0 && !has_candidate) milestones_.push_back({walk.at(), known});
  }
  bytes_read_ += walk.at() - from;
  return walk.is_whole() ? heap.last : walk.at();
}

void NativeCensus::accept() {
  classes_.resize(std::max(classes_.size(), table_.size()));
  if (keeps_blocks_) {
    for (const Found& found : found_) blocks_.push_back({found.address, found.content});
    found_.clear();
  }
  for (const Found& found : found_) {
    NativeClass& of = classes_[found.slot];
    ++of.count;
    of.bytes += found.bytes;
    if (is_torch_storage(found.slot)) {
      DeviceStorages& device = devices_[found.device];
      ++device.count;
      device.bytes += found.content;
    }
    if (keeps_objects_) objects_.push_back({found.address, found.slot});
  }
  found_.clear();
}

// --- large blocks, which have a mapping or a part of one

void NativeCensus::read_mapped_blocks(const Mapping& mapping, const ScanVector<MallocHeap>& heaps) {
  PresentPages pages;
  std::vector<Address> sizes;  // where a block that began with a page would have its size
  std::vector<uint64_t> found;
  for (Address at = mapping.first; at < mapping.last;) {
    sizes.clear();
    bool is_present = mapping.is_readable && reads_in_place_;
    for (; at < mapping.last && sizes.size() < pages_at_once; at += page) {
      const auto heap = std::find_if(heaps.begin(), heaps.end(), [&](const auto& heap) { return heap.contains(at); });
      if (heap != heaps.end()) {
        at = heap->last - page;
      } else if (pages.has(at, mapping.last)) {
        sizes.push_back(at + sizeof(uint64_t));
        is_present = is_present && pages.is_known();
      }
    }
    is_present ? words_at(sizes, found) : reader_.read_words(sizes, found);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if ((found[i] & chunk_flags) != is_mapped_chunk || found[i] % page != is_mapped_chunk) continue;
      const Address end = read_mapped_block(sizes[i] - sizeof(uint64_t), mapping.last);
      while (i + 1 < sizes.size() && sizes[i + 1] < end) ++i;
      at = std::max(at, end);
    }
  }
}

// Returns the end of the block; 0 if there is none.
Address NativeCensus::read_mapped_block(Address at, Address last) {
  if (!reader_.read(at, words_.data(), ChunkWalk::words_at_hand * sizeof(uint64_t))) return 0;
  const uint64_t bytes = words_[1] & chunk_size_mask;
  if (words_[0] != 0 || bytes < page || bytes > last - at) return 0;
  look_at({at, bytes, true, words_.data(), ChunkWalk::words_at_hand});
  bytes_read_ += ChunkWalk::words_at_hand * sizeof(uint64_t);
  accept();
  return at + bytes;
}

// --- objects

void NativeCensus::look_at(const Chunk& chunk) {
  if (keeps_blocks_) {
    const uint64_t word = chunk.words[2];
    const bool may_be_vtable = marks_[mark_of(word)] != 0 && looks_like_pointer(word);
    if (may_be_vtable) found_.push_back({chunk.at + chunk_header, 0, 0, word, unknown_device});
    return;
  }
  const uint32_t slot = slot_of(chunk.words[2]);
  if (slot == no_slot) return;
  const Address block = chunk.at + chunk_header;
  if (!table_[slot].is_in_place) {
    if (!is_gone(chunk, table_[slot].count)) found_.push_back(measured(chunk, block, slot));
    return;
  }
  if (static_cast<uint32_t>(chunk.words[3]) == 0) return;  // only weak pointers are left
  const uint32_t inner = slot_of(word_of(chunk, 16));
  const bool has_class = inner != no_slot && !table_[inner].is_in_place;
  found_.push_back(measured(chunk, block + 16, has_class ? inner : slot));
}

// Whether the object is kept only for weak references, and has released everything else.
bool NativeCensus::is_gone(const Chunk& chunk, ClassRecord::Count count) const {
  uint64_t offset = TorchLayout::absent;
  if (count == ClassRecord::Count::engine) offset = engine_count_offset;
  if (count == ClassRecord::Count::torch && layout_ != nullptr) offset = layout_->count_in_target;
  return offset != TorchLayout::absent && static_cast<uint32_t>(word_of(chunk, offset)) == 0;
}

bool NativeCensus::is_torch_storage(uint32_t slot) const {
  return table_[slot].family == Family::storage && table_[slot].count == ClassRecord::Count::torch;
}

// Whether the bytes of a storage count: it has memory, or is on the meta device, where none has. The storages of
// wrapper subclasses such as DTensor have a size only.
bool NativeCensus::has_content(const Chunk& chunk, uint64_t start, uint64_t device) const {
  if (layout_->data_in_storage == TorchLayout::absent || word_of(chunk, start + layout_->data_in_storage) != 0)
    return true;
  const auto type = layout_->device_names.find(static_cast<int8_t>(device & 0xff));
  return type != layout_->device_names.end() && type->second == "meta";
}

NativeCensus::Found NativeCensus::measured(const Chunk& chunk, Address address, uint32_t slot) const {
  Found found{address, slot, static_cast<uint32_t>(chunk.bytes - sizeof(uint64_t)), 0, unknown_device};
  if (!is_torch_storage(slot) || layout_ == nullptr) return found;
  const uint64_t start = address - chunk.at - chunk_header;
  if (layout_->device_in_storage != TorchLayout::absent)
    found.device = word_of(chunk, start + layout_->device_in_storage) & 0xffff;
  if (layout_->bytes_in_storage == TorchLayout::absent || !has_content(chunk, start, found.device)) return found;
  const uint64_t content = word_of(chunk, start + layout_->bytes_in_storage);
  found.content = content <= largest_content ? content : 0;
  return found;
}

// Returns a word of the block.
uint64_t NativeCensus::word_of(const Chunk& chunk, uint64_t offset) const {
  const size_t place = (chunk_header + offset) / sizeof(uint64_t);
  uint64_t word = 0;
  if (offset % sizeof(uint64_t) == 0 && place < chunk.word_count) return chunk.words[place];
  return reader_.read_word(chunk.at + chunk_header + offset, &word) ? word : 0;
}

// --- classes

uint32_t NativeCensus::slot_of(uint64_t word) {
  if (marks_[mark_of(word)] == 0 || word % sizeof(uint64_t) != 0) return no_slot;
  CacheEntry& entry = cache_[(word * 0x9E3779B97F4A7C15ull) >> (64 - cache_bits)];
  if (entry.word != word) entry = {word, table_.find(word)};
  return entry.slot;
}

}  // namespace gradlife::heap
