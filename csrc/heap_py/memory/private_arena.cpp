#include "heap_py/memory/private_arena.hpp"

#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace gradlife::heap {
namespace {

// Bytes of address space; pages are allocated on the first write. Less if address space is limited.
constexpr size_t max_bytes = size_t{1} << 32;
constexpr size_t min_bytes = size_t{1} << 28;

}  // namespace

#ifdef __linux__

ScanArena::ScanArena() {
  for (bytes_ = max_bytes; bytes_ >= min_bytes; bytes_ /= 2) {
    start_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start_ != MAP_FAILED) break;
  }
  if (start_ == MAP_FAILED) throw std::bad_alloc();
  memory_.emplace(start_, bytes_, std::pmr::null_memory_resource());
}

ScanArena::~ScanArena() { munmap(start_, bytes_); }

#else

ScanArena::ScanArena() { memory_.emplace(); }
ScanArena::~ScanArena() = default;

#endif

AddressRange ScanArena::range() const {
  const auto first = static_cast<Address>(reinterpret_cast<uintptr_t>(start_));
  return {first, first + bytes_};
}

}  // namespace gradlife::heap
