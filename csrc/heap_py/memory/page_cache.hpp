// Guarded reads of many small objects that are close together: a page is copied once, with those after it, and then
// read from the copy.
#pragma once

#include "heap_py/memory/memory_reader.hpp"
#include "heapgraph/graph/buffer.hpp"

namespace gradlife::heap {

// Shows memory as it was when its page was first read: for one walk, while no Python code runs.
class PageCache {
 public:
  static constexpr size_t many = 4096, few = 16;                                 // pages held at once
  explicit PageCache(size_t page_count = many) : last_place_(page_count - 1) {}  // a power of two
  bool read(Address address, void* into, size_t bytes) const;
  bool read_word(Address address, uint64_t* word) const {
    const size_t offset = address % page_bytes, place = place_of(address);
    if (pages_.empty() || pages_[place] != address - offset || offset > page_bytes - sizeof *word)
      return read(address, word, sizeof *word);
    __builtin_memcpy(word, copy_at(place) + offset, sizeof *word);
    return true;
  }
  void forget();  // later reads copy pages again

 private:
  static constexpr size_t page_bytes = 4096;
  static constexpr size_t pages_in_group = 4;  // a missing page is read with those after it in its group
  static constexpr size_t group_bytes = pages_in_group * page_bytes;

  // Each page of memory maps to one place here.
  size_t place_of(Address page) const { return page / page_bytes & last_place_; }
  // Numbers mistaken for addresses are often round: their low bits are all the same.
  size_t unreadable_place_of(Address page) const {
    return (page / page_bytes * 0x9E3779B97F4A7C15ull >> 32) & last_place_;
  }
  bool has(Address page) const {
    return pages_[place_of(page)] == page || (unreadable_[unreadable_place_of(page)] != page && fill(page));
  }
  // Returns the address of a page's copy. Groups are in the order of their first use, so that only used memory is
  // touched.
  char* copy_at(size_t place) const {
    return copies_.data() + (frames_[place / pages_in_group] - 1) * group_bytes + place % pages_in_group * page_bytes;
  }
  void start() const;
  bool fill(Address page) const;

  size_t last_place_;
  MemoryReader reader_;
  static constexpr Address no_page = 1;

  // By place. Pages that cannot be read are kept separately, so that they do not evict those that can.
  mutable Buffer<char> copies_;
  mutable Buffer<uint32_t> frames_;  // by group of places, plus one
  mutable Buffer<Address> pages_;
  mutable Buffer<Address> unreadable_;
};

}  // namespace gradlife::heap
