// Every live C++ object with a vtable and a malloc block of its own, counted by class, even if no known object leads to
// it.
#pragma once

#include <map>

#include "heap_py/memory/class_families.hpp"
#include "heap_py/memory/malloc_heaps.hpp"
#include "heap_py/providers/torch/layout.hpp"

namespace gradlife::heap {

struct NativeClass {
  uint64_t count = 0;
  uint64_t bytes = 0;  // bytes of their blocks
};
struct DeviceStorages {
  uint64_t count = 0;
  uint64_t bytes = 0;  // bytes of their contents
};

// Linux with glibc's malloc. Freed blocks are recognized by malloc's marks and by its list pointers in the place of a
// vtable; an object kept only for weak references counts as gone, too. Memory is only read.
class NativeCensus {
 public:
  static constexpr uint16_t unknown_device = 0x00ff;  // torch has no type numbers below 0
  static const char* why_not();                       // nullptr, or one sentence why it cannot work here
  // Error: std::bad_alloc, std::runtime_error (see `why_not`). `layout` may be nullptr: then less is known about
  // torch's objects.
  explicit NativeCensus(const TorchLayout* layout);
  void run();  // once

  // Call it before `run`, in a forked copy that has one thread: nothing unmaps a present page before it is read, so
  // some need no system call.
  void read_in_place() { reads_in_place_ = true; }

  struct Object {
    Address address;
    uint32_t slot;  // the slot of its class
  };
  void keep_objects() { keeps_objects_ = true; }  // call it before `run`

  // Possible objects, judged only by the first word of their block. Checking classes later makes the first run ten
  // times as fast.
  struct Block {
    Address address;
    uint64_t word;
    bool operator<(const Block& other) const {
      return address != other.address ? address < other.address : word < other.word;
    }
  };
  void keep_blocks() { keeps_blocks_ = true; }  // call it before `run`, which then counts nothing
  const ScanVector<Block>& blocks() const { return blocks_; }
  const ClassTable& table() const { return table_; }
  const std::vector<NativeClass>& classes() const { return classes_; }  // by their index in the table
  const std::map<uint16_t, DeviceStorages>& devices() const {
    return devices_;
  }  // by torch's numbers of type and index
  const ScanVector<Object>& objects() const { return objects_; }
  uint64_t bytes_read() const { return bytes_read_; }
  size_t lost_heaps() const { return lost_heaps_; }  // they changed too fast to be walked: their objects are missing

 private:
  static constexpr uint32_t no_slot = ClassTable::none;
  static constexpr unsigned cache_bits = 14;
  struct Found {  // the objects of a heap, until its walk is known to be right
    Address address;
    uint32_t slot;
    uint32_t bytes;
    uint64_t content : 48;  // bytes of a storage's content
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
  bool has_content(const Chunk& chunk, uint64_t start, uint64_t device) const;
  Found measured(const Chunk& chunk, Address address, uint32_t slot) const;
  uint64_t word_of(const Chunk& chunk, uint64_t offset) const;
  uint32_t slot_of(uint64_t word);
  void accept();

  const TorchLayout* layout_;
  ScanArena arena_;
  MemoryMap map_;
  BulkMemoryReader reader_;
  ClassTable& table_;
  ScanVector<uint64_t> words_;
  ScanVector<uint8_t> marks_;  // marks where libraries are mapped
  ScanVector<CacheEntry> cache_;
  ScanVector<Found> found_;
  ScanVector<Milestone> milestones_;
  ScanVector<Object> objects_;
  ScanVector<Block> blocks_;
  std::vector<NativeClass> classes_;
  std::map<uint16_t, DeviceStorages> devices_;
  uint64_t bytes_read_ = 0;
  size_t lost_heaps_ = 0;
  bool keeps_objects_ = false, keeps_blocks_ = false, reads_in_place_ = false;
};

}  // namespace gradlife::heap
