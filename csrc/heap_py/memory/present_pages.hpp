// The pages of memory that are present. Reading a page that was never touched would create it.
#pragma once

#include <array>

#include "heap_py/memory/private_arena.hpp"

namespace gradlife::heap {

class PresentPages {
 public:
  PresentPages();
  ~PresentPages();
  PresentPages(const PresentPages&) = delete;
  PresentPages& operator=(const PresentPages&) = delete;
  // Whether the page is present or swapped out; true if the kernel does not say. `last`: how far to query ahead.
  bool has(Address address, Address last);
  // Whether the last answer came from the kernel.
  bool is_known() const { return is_known_; }

 private:
  static constexpr size_t pages_at_once = 512;
  void ask(Address address, Address last);

  std::array<uint64_t, pages_at_once> entries_;
  AddressRange known_;
  uint64_t page_bytes_;
  int file_ = -1;
  bool is_known_ = false;
};

}  // namespace gradlife::heap
