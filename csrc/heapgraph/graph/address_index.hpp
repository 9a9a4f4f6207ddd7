// From an address to its node: open addressing with slots of eight bytes.
//
// A slot has the node and the low bits of the address's hash, more of them in a small table, whose nodes need fewer.
// The hash is a bijection of the address, and a slot lies near its home, so the stored bits and the slot's index
// together identify the address: a lookup never reads the node itself. The number of slots need not be a power of two:
// such a table would be half empty on average, and empty slots cost memory, too.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

class AddressIndex {
 public:
  explicit AddressIndex(size_t expected) { allocate(slots_for(expected)); }

  // Returns the node of an address, or no_node. Addresses are multiples of 8 below 2^48.
  NodeId find(Address address) const {
    const uint64_t hash = mix(address);
    const uint64_t tag = tag_of(hash);
    const uint64_t* slot = slots_.data() + home(hash);
    for (const uint64_t* end = slot + reach_; slot != end && *slot != 0; ++slot)
      if ((*slot & tag_mask_) == tag) return static_cast<NodeId>((*slot & ~tag_mask_) - 1);
    return no_node;
  }
  void prefetch(Address address) const { __builtin_prefetch(&slots_[home(mix(address))]); }

  // Adds an address, which must not be in the table. `addresses`: those of all nodes up to this one, for when the table
  // grows.
  void insert(Address address, NodeId node, const Buffer<Address>& addresses) {
    if (used_ >= max_used_ || !place(address, node)) grow(addresses, size_t{node} + 1);
  }
  // Makes room for `expected` addresses. The first `indexed` of `addresses` are already in the table.
  void reserve(size_t expected, const Buffer<Address>& addresses, size_t indexed) {
    if (slots_for(expected) > homes_ && !fill(slots_for(expected), addresses, indexed)) grow(addresses, indexed);
  }
  size_t bytes() const { return slots_.bytes(); }

 private:
  // A slot: the tag, and below it the node plus one. 0: empty.
  static constexpr unsigned hash_bits = 45;  // of address >> 3
  static constexpr unsigned home_bits = 30;  // the highest bits of the hash, which determine the home
  static constexpr unsigned node_bits = 32;  // of a slot
  static constexpr unsigned small_node_bits = 20;
  static constexpr size_t min_slots = size_t{1} << 12;
  static constexpr size_t max_small_reach = size_t{1} << 10;

  static size_t slots_for(size_t expected) { return std::max(min_slots, expected + expected / 4); }
  static uint64_t mix(Address address) {
    constexpr uint64_t all = (uint64_t{1} << hash_bits) - 1;
    return ((address >> 3) * 0x9E3779B97F4A7C15ull) & all;  // odd, so a bijection
  }
  size_t home(uint64_t hash) const {
    return static_cast<size_t>(((hash >> (hash_bits - home_bits)) * homes_) >> home_bits);
  }

  uint64_t tag_of(uint64_t hash) const { return (hash << bits_of_node_) & tag_mask_; }

  void allocate(size_t homes) {
    homes_ = homes;
    const bool is_small = homes < size_t{1} << small_node_bits;
    bits_of_node_ = is_small ? small_node_bits : node_bits;
    tag_mask_ = ~uint64_t{0} << bits_of_node_;
    // Hashes with the same tag differ by at least the number of tag values, and so do their homes; slots lie no farther
    // from their home than that.
    const unsigned tag_bits = 64 - bits_of_node_;
    reach_ = std::min(homes >> (hash_bits - tag_bits), is_small ? max_small_reach : homes) - 1;
    max_used_ = homes - homes / 6;
    slots_.assign_zero(homes + reach_);
    used_ = 0;
  }
  bool place(Address address, NodeId node) {
    const uint64_t hash = mix(address);
    uint64_t* slot = slots_.data() + home(hash);
    for (const uint64_t* end = slot + reach_; slot != end; ++slot) {
      if (*slot != 0) continue;
      *slot = tag_of(hash) | (uint64_t{node} + 1);
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

  Buffer<uint64_t> slots_;
  size_t homes_ = 0;
  unsigned bits_of_node_ = node_bits;
  uint64_t tag_mask_ = 0;
  size_t reach_ = 0;
  size_t max_used_ = 0;
  size_t used_ = 0;
};

}  // namespace gradlife::heap
