// Guarded reading of many small things that lie close together: a page is copied once, with those behind it, and then
// read from the copy.
#pragma once

#include "heap_py/memory/memory_reader.hpp"
#include "heapgraph/graph/buffer.hpp"

namespace gradlife::heap {

// Shows memory as it was when its page was first read: for the time of one walk, while no Python code runs.
class PageCache {
 public:
  static constexpr size_t many = 4096, few = 16;                                 // pages at once
  explicit PageCache(size_t page_count = many) : last_place_(page_count - 1) {}  // a power of two
  bool read(Address address, void* into, size_t bytes) const;
  bool read_word(Address address, uint64_t* word) const {
    const size_t offset = address % page_bytes, place = place_of(address);
    if (pages_.empty() || pages_[place] != address - offset || offset > page_bytes - sizeof *word)
      return read(address, word, sizeof *word);
    __builtin_memcpy(word, copy_at(place) + offset, sizeof *word);
    return true;
  }
  void forget();  // what is read from here on is read anew

 private:
  static constexpr size_t page_bytes = 4096;
  static constexpr size_t pages_in_group = 4;  // a missing one is read with those behind it in its group
  static constexpr size_t group_bytes = pages_in_group * page_bytes;

  // Each page of memory has one place here.
  size_t place_of(Address page) const { return page / page_bytes & last_place_; }
  // Round numbers are what is mistaken for addresses: their low bits are all the same.
  size_t unreadable_place_of(Address page) const {
    return (page / page_bytes * 0x9E3779B97F4A7C15ull >> 32) & last_place_;
  }
  bool has(Address page) const {
    return pages_[place_of(page)] == page || (unreadable_[unreadable_place_of(page)] != page && fill(page));
  }
  // The address of a page's copy: groups lie in the order of their first use, so that memory is
  // touched for those only.
  char* copy_at(size_t place) const {
    return copies_.data() + (frames_[place / pages_in_group] - 1) * group_bytes + place % pages_in_group * page_bytes;
  }
  void start() const;
  bool fill(Address page) const;

  size_t last_place_;
  MemoryReader reader_;
  static constexpr Address no_page = 1;

  // By place. Pages that can't be read stand apart, so that they do not drive out those that can.
  mutable Buffer<char> copies_;
  mutable Buffer<uint32_t> frames_;  // by group of places, plus one
  mutable Buffer<Address> pages_;
  mutable Buffer<Address> unreadable_;
};

}  // namespace gradlife::heap
