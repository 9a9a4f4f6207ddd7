#include "heapgraph/graph/hidden_memory.hpp"

#include <cstring>
#include <map>

namespace gradlife::heap {
namespace {

std::map<uint64_t, uint64_t>& ranges() {
  static auto* known = new std::map<uint64_t, uint64_t>;  // never destroyed: arrays may outlive static data
  return *known;
}

}  // namespace

void note_own(uint64_t address, size_t bytes) noexcept {
  if (address == 0) return;
  try {
    ranges()[address] = address + bytes;
  } catch (const std::bad_alloc&) {
  }
}

void forget_own(uint64_t address) noexcept { ranges().erase(address); }

void visit_own(const std::function<void(uint64_t first, uint64_t last)>& visit) {
  for (const auto& [first, last] : ranges()) visit(first, last);
}

void wipe(void* data, size_t bytes) noexcept {
  if (data == nullptr) return;
  std::memset(data, 0, bytes);
  asm volatile("" : : "r"(data) : "memory");  // keeps the compiler from removing a write that nobody reads
}

}  // namespace gradlife::heap
