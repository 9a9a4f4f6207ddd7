// Every live C++ object with a vtable that has a block of malloc's to itself, counted by class, whether or not anything
// is known to reach it.
#pragma once

#include <map>

#include "heap_py/memory/class_families.hpp"
#include "heap_py/memory/malloc_heaps.hpp"
#include "heap_py/providers/torch/layout.hpp"

namespace gradlife::heap {

struct NativeClass {
  uint64_t count = 0;
  uint64_t bytes = 0;  // of their blocks
};
struct DeviceStorages {
  uint64_t count = 0;
  uint64_t bytes = 0;  // of their contents
};

// Linux with glibc's malloc. What malloc got back is recognized by its own marks and by its lists, which stand where a
// vtable stood; an object that is kept for weak references alone is gone, too. Memory is only read.
class NativeCensus {
 public:
  static constexpr uint16_t unknown_device = 0x00ff;  // no type has a number below 0
  static const char* why_not();                       // one sentence where it can't work here, otherwise nullptr
  // Error: std::bad_alloc, std::runtime_error (see `why_not`). `layout` may be nullptr: then less is known of torch's.
  explicit NativeCensus(const TorchLayout* layout);
  void run();  // once

  struct Object {
    Address address;
    uint32_t slot;  // of its class
  };
  void keep_objects() { keeps_objects_ = true; }  // before `run`

  // Possible objects, by the first word of their block alone. Checking classes later makes the first run ten times as
  // fast.
  struct Block {
    Address address;
    uint64_t word;
    bool operator<(const Block& other) const {
      return address != other.address ? address < other.address : word < other.word;
    }
  };
  void keep_blocks() { keeps_blocks_ = true; }  // before `run`, which then counts nothing
  const ScanVector<Block>& blocks() const { return blocks_; }
  const ClassTable& table() const { return table_; }
  const std::vector<NativeClass>& classes() const { return classes_; }  // by their place in the table
  const std::map<uint16_t, DeviceStorages>& devices() const {
    return devices_;
  }  // by torch's numbers of type and index
  const ScanVector<Object>& objects() const { return objects_; }
  uint64_t bytes_read() const { return bytes_read_; }
  size_t lost_heaps() const { return lost_heaps_; }  // that changed too fast to be followed: their objects are missing

 private:
  static constexpr uint32_t no_slot = ClassTable::none;
  static constexpr unsigned cache_bits = 14;
  struct Found {  // what a heap has, until its walk is known to be right
    Address address;
    uint32_t slot;
    uint32_t bytes;
    uint64_t content : 48;  // of a storage
    uint64_t device : 16;
  };
  struct Milestone {
    Address at;
    size_t found;
  };
  struct CacheEntry {
    uint64_t word = 0;
    uint32_t slot = no_slot;
  };

  void mark_libraries();
  void read_heap(const MallocHeap& heap);
  bool follow(MallocHeap heap, Address first);
  Address walk(const MallocHeap& heap, Address from);
  void read_mapped_blocks(const Mapping& mapping, const ScanVector<MallocHeap>& heaps);
  Address read_mapped_block(Address at, Address last);
  void look_at(const Chunk& chunk);
  bool is_gone(const Chunk& chunk, ClassRecord::Count count) const;
  bool is_torch_storage(uint32_t slot) const;
  Found measured(const Chunk& chunk, Address address, uint32_t slot) const;
  uint64_t word_of(const Chunk& chunk, uint64_t offset) const;
  uint32_t slot_of(uint64_t word);
  void accept();

  const TorchLayout* layout_;
  ScanArena arena_;
  MemoryMap map_;
  MemoryReader reader_;
  ClassTable& table_;
  ScanVector<uint64_t> words_;
  ScanVector<uint8_t> marks_;  // of where libraries lie
  ScanVector<CacheEntry> cache_;
  ScanVector<Found> found_;
  ScanVector<Milestone> milestones_;
  ScanVector<Object> objects_;
  ScanVector<Block> blocks_;
  std::vector<NativeClass> classes_;
  std::map<uint16_t, DeviceStorages> devices_;
  uint64_t bytes_read_ = 0;
  size_t lost_heaps_ = 0;
  bool keeps_objects_ = false, keeps_blocks_ = false;
};

}  // namespace gradlife::heap
