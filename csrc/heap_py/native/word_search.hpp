// Searches memory for words that equal one of many addresses.
#pragma once

#include "heap_py/memory/memory_map.hpp"

namespace gradlife::heap {

// Up to some ten thousand addresses. A small table of marks excludes nearly every other word.
class AddressSet {
 public:
  AddressSet(const ScanVector<Address>& sorted, ScanArena& arena);
  bool may_contain(uint64_t word) const { return marks_[(word * 0x9E3779B97F4A7C15ull) >> shift_] != 0; }
  static constexpr size_t row = 8;
  bool may_contain_any(const uint64_t* words) const {  // tests a row of words without a branch
    const uint8_t* marks = marks_.data();
    const unsigned shift = shift_;
    uint8_t found = 0;
    for (size_t i = 0; i < row; ++i) found |= marks[(words[i] * 0x9E3779B97F4A7C15ull) >> shift];
    return found != 0;
  }
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t find(uint64_t word) const;  // its index in the sorted row, or none
  Address operator[](uint32_t place) const { return addresses_[place]; }

 private:
  const ScanVector<Address>& addresses_;
  ScanVector<uint8_t> marks_;
  unsigned shift_;
};

struct WordHit {
  Address at;
  uint32_t place;  // index in the address set's row
};

// Searches a row of readable memory; `start` is its address.
void search_words(const uint64_t* words, size_t count, Address start, const AddressSet& wanted,
                  ScanVector<WordHit>& hits);

// Searches all writable private memory of the process. Pages that were never touched are skipped, so none is created;
// those that are unmapped meanwhile are skipped, too.
class MemorySearch {
 public:
  MemorySearch(const MemoryMap& map, ScanArena& arena);
  ~MemorySearch();
  MemorySearch(const MemorySearch&) = delete;
  MemorySearch& operator=(const MemorySearch&) = delete;
  void leave_out(AddressRange range);
  void search(const AddressSet& wanted, ScanVector<WordHit>& hits);
  void read_only();  // the same reading without a search: its least cost
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Task {
    const AddressSet* wanted = nullptr;  // nullptr: only reads
    ScanVector<WordHit>* hits = nullptr;
  };
  void read_all(Task task);
  void read_piece(AddressRange piece, Task task);
  bool note_present_pages(AddressRange piece);
  bool read_run(AddressRange run, Task task);
  bool is_left_out(AddressRange part) const;

  const MemoryMap& map_;
  MemoryReader reader_;
  ScanVector<AddressRange> left_out_;  // in order, without overlaps
  ScanVector<uint64_t> words_;         // of one piece
  ScanVector<uint64_t> pages_;         // the kernel's information about each of its pages
  uint64_t page_bytes_;
  uint64_t bytes_read_ = 0;
  int page_file_ = -1;
};

}  // namespace gradlife::heap
