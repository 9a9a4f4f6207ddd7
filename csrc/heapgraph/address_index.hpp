// From an address to its node: open addressing with slots of eight bytes.
//
// A slot has the node and the low bits of the address's hash. The hash is a bijection of the address, and a slot lies
// near its home, so the stored bits and the place together identify the address: a lookup never reads the node itself.
// The number of slots is any number: a power of two would be half empty on average, and empty slots cost memory, too.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heapgraph/graph.hpp"

namespace gradlife::heap {

class AddressIndex {
 public:
  explicit AddressIndex(size_t expected) { allocate(slots_for(expected)); }

  // The node of an address, or no_node. Addresses are multiples of 8 below 2^48.
  NodeId find(Address address) const {
    const uint64_t hash = mix(address);
    const uint32_t tag = static_cast<uint32_t>(hash);
    const Slot* slot = slots_.data() + home(hash);
    for (const Slot* end = slot + reach_; slot != end && slot->node != 0; ++slot)
      if (slot->tag == tag) return slot->node - 1;
    return no_node;
  }
  void prefetch(Address address) const { __builtin_prefetch(&slots_[home(mix(address))]); }

  // The address must not be there yet. `addresses`: of all nodes up to this one, for when the table grows.
  void insert(Address address, NodeId node, const Buffer<Address>& addresses) {
    if (used_ >= most_used_ || !place(address, node)) grow(addresses, size_t{node} + 1);
  }
  // Makes room for so many, of which the first `indexed` are there.
  void reserve(size_t expected, const Buffer<Address>& addresses, size_t indexed) {
    if (slots_for(expected) > homes_ && !fill(slots_for(expected), addresses, indexed)) grow(addresses, indexed);
  }
  size_t bytes() const { return slots_.bytes(); }

 private:
  struct Slot {
    uint32_t node;  // plus one; 0: empty
    uint32_t tag;
  };
  static constexpr unsigned hash_bits = 45;  // of address >> 3
  static constexpr unsigned home_bits = 30;  // of the hash: its highest, which make the home
  static constexpr size_t least_slots = size_t{1} << 20;

  static size_t slots_for(size_t expected) { return std::max(least_slots, expected + expected / 4); }
  static uint64_t mix(Address address) {
    constexpr uint64_t all = (uint64_t{1} << hash_bits) - 1;
    return ((address >> 3) * 0x9E3779B97F4A7C15ull) & all;  // odd, so a bijection
  }
  size_t home(uint64_t hash) const {
    return static_cast<size_t>(((hash >> (hash_bits - home_bits)) * homes_) >> home_bits);
  }

  void allocate(size_t homes) {
    homes_ = homes;
    // Hashes with the same tag differ by 2^32 or more, so their homes by this; slots lie no farther from their home.
    reach_ = (homes >> (hash_bits - 32)) - 1;
    most_used_ = homes - homes / 6;
    slots_.assign_zero(homes + reach_);
    used_ = 0;
  }
  bool place(Address address, NodeId node) {
    const uint64_t hash = mix(address);
    Slot* slot = slots_.data() + home(hash);
    for (const Slot* end = slot + reach_; slot != end; ++slot) {
      if (slot->node != 0) continue;
      *slot = {node + 1, static_cast<uint32_t>(hash)};
      ++used_;
      return true;
    }
    return false;
  }
  void grow(const Buffer<Address>& addresses, size_t count) {
    size_t homes = homes_ + homes_ / 2;
    while (!fill(homes, addresses, count)) homes += homes / 2;
  }
  bool fill(size_t homes, const Buffer<Address>& addresses, size_t count) {
    constexpr size_t ahead = 16;
    allocate(homes);
    for (size_t i = 0; i < count; ++i) {
      if (i + ahead < count) prefetch(addresses[i + ahead]);
      if (!place(addresses[i], static_cast<NodeId>(i))) return false;
    }
    return true;
  }

  Buffer<Slot> slots_;
  size_t homes_ = 0;
  size_t reach_ = 0;
  size_t most_used_ = 0;
  size_t used_ = 0;
};

}  // namespace gradlife::heap
