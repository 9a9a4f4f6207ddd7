// The scan's own memory, in one range that the scan skips: it must not find what it wrote itself.
#pragma once

#include <memory_resource>
#include <optional>
#include <vector>

#include "heap_py/memory/memory_reader.hpp"

namespace gradlife::heap {

struct AddressRange {
  Address first = 0;
  Address last = 0;  // one past the end
  bool contains(Address address) const { return address >= first && address < last; }
};

template <class T>
using ScanVector = std::pmr::vector<T>;

class ScanArena {
 public:
  ScanArena();  // Error: std::bad_alloc, now or when it is full
  ~ScanArena();
  ScanArena(const ScanArena&) = delete;
  ScanArena& operator=(const ScanArena&) = delete;
  std::pmr::memory_resource* memory() { return &*memory_; }
  AddressRange range() const;

 private:
  void* start_ = nullptr;
  size_t bytes_ = 0;
  std::optional<std::pmr::monotonic_buffer_resource> memory_;
};

}  // namespace gradlife::heap
