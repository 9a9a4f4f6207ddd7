#include "heap_py/scan_arena.hpp"

#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace gradlife::heap {
namespace {

constexpr size_t arena_bytes = size_t{1} << 28;  // of address space; pages come as they are written

}  // namespace

#ifdef __linux__

ScanArena::ScanArena() {
  start_ = mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start_ == MAP_FAILED) throw std::bad_alloc();
  memory_.emplace(start_, arena_bytes, std::pmr::null_memory_resource());
}

ScanArena::~ScanArena() { munmap(start_, arena_bytes); }

#else

ScanArena::ScanArena() { memory_.emplace(); }
ScanArena::~ScanArena() = default;

#endif

AddressRange ScanArena::range() const {
  const auto first = static_cast<Address>(reinterpret_cast<uintptr_t>(start_));
  return {first, first + arena_bytes};
}

}  // namespace gradlife::heap
