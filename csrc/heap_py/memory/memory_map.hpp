// The memory map of this process.
#pragma once

#include "heap_py/memory/private_arena.hpp"

namespace gradlife::heap {

struct Mapping : AddressRange {
  enum class What : uint8_t { anonymous, heap, stack, file, special };
  What what = What::anonymous;
  bool is_readable = false;
  bool is_writable = false;
  bool is_executable = false;
  bool is_private = false;
};

class MemoryMap {
 public:
  explicit MemoryMap(ScanArena& arena);  // reads /proc/self/maps; empty if there is none
  const Mapping* find(Address address) const;
  const Mapping* before(const Mapping& mapping) const { return &mapping != mappings_.data() ? &mapping - 1 : nullptr; }
  const ScanVector<Mapping>& all() const { return mappings_; }
  bool is_code(Address address) const;

 private:
  void add(const Mapping& mapping);

  ScanVector<Mapping> mappings_;  // in order
};

}  // namespace gradlife::heap
