// Notes by address, in two arrays of their own: nodes from malloc would fragment the blocks that the program frees.
// Open addressing; removal leaves no gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "heapgraph/graph/buffer.hpp"

namespace gradlife::heap {

template <class Value>
class NoteTable {
 public:
  explicit NoteTable(size_t most) : most_(most) {}

  size_t size() const { return used_; }

  // A full table ignores a new address. Error: std::bad_alloc, with nothing changed.
  void keep(uintptr_t address, const Value& value) {
    size_t at = addresses_.empty() ? 0 : slot_of(address);
    if (addresses_.empty() || addresses_[at] == 0) {
      if (used_ == most_) return;
      if (4 * (used_ + 1) > 3 * addresses_.size()) {
        grow();
        at = slot_of(address);
      }
      addresses_[at] = address;
      ++used_;
    }
    values_[at] = value;
  }

  void erase(uintptr_t address) noexcept {
    if (addresses_.empty()) return;
    size_t gap = slot_of(address);
    if (addresses_[gap] == 0) return;
    --used_;
    // Move the following entries up, unless that puts one before its home slot.
    for (size_t at = next(gap); addresses_[at] != 0; at = next(at)) {
      if (distance(home(addresses_[at]), at) < distance(gap, at)) continue;
      addresses_[gap] = addresses_[at];
      values_[gap] = values_[at];
      gap = at;
    }
    addresses_[gap] = 0;
  }

  const Value* find(uintptr_t address) const {
    const size_t at = addresses_.empty() ? 0 : slot_of(address);
    return !addresses_.empty() && addresses_[at] == address ? &values_[at] : nullptr;
  }

  // Visits notes in no order. The table must not change meanwhile.
  template <class Visit>
  void visit(const Visit& visit) const {
    for (size_t at = 0; at < addresses_.size(); ++at)
      if (addresses_[at] != 0) visit(addresses_[at], values_[at]);
  }

 private:
  static constexpr size_t min_slots = size_t{1} << 10;  // a power of two, like all sizes

  size_t home(uintptr_t address) const {
    return static_cast<size_t>(((address >> 4) * 0x9E3779B97F4A7C15ull) >> 20) & (addresses_.size() - 1);
  }
  size_t next(size_t at) const { return (at + 1) & (addresses_.size() - 1); }
  size_t distance(size_t from, size_t to) const { return (to - from) & (addresses_.size() - 1); }

  // Returns the slot of the address, or the empty one where it belongs.
  size_t slot_of(uintptr_t address) const {
    size_t at = home(address);
    while (addresses_[at] != 0 && addresses_[at] != address) at = next(at);
    return at;
  }

  void grow() {
    NoteTable larger(most_);
    const size_t slots = addresses_.empty() ? min_slots : 2 * addresses_.size();
    larger.addresses_.assign_zero(slots);
    larger.values_.resize(slots);
    visit([&](uintptr_t address, const Value& value) {
      const size_t at = larger.slot_of(address);
      larger.addresses_[at] = address;
      larger.values_[at] = value;
    });
    std::swap(addresses_, larger.addresses_);
    std::swap(values_, larger.values_);
  }

  size_t most_, used_ = 0;
  Buffer<uintptr_t> addresses_;  // 0: an empty slot
  Buffer<Value> values_;
};

}  // namespace gradlife::heap
