// From an address to its node: open addressing with slots of eight bytes.
//
// A slot has the node and the low bits of the address's hash. The hash is a bijection of the address, and a slot lies
// near its home, so the stored bits and the place together identify the address: a lookup never reads the node itself.
#pragma once

#include <cstdint>

#include "heapgraph/graph.hpp"

namespace gradlife::heap {

class AddressIndex {
 public:
  explicit AddressIndex(size_t expected) { allocate(bits_for(expected)); }

  // The node of an address, or no_node. Addresses are multiples of 8 below 2^48.
  NodeId find(Address address) const {
    const uint64_t hash = mix(address);
    const uint32_t tag = static_cast<uint32_t>(hash);
    size_t at = home(hash);
    for (size_t steps = 0; steps < reach; ++steps, at = (at + 1) & mask_) {
      const Slot slot = slots_[at];
      if (slot.node == 0) return no_node;
      if (slot.tag == tag) return slot.node - 1;
    }
    return no_node;
  }
  void prefetch(Address address) const { __builtin_prefetch(&slots_[home(mix(address))]); }

  // The address must not be there yet. `addresses`: of all nodes up to this one, for when the table grows.
  void insert(Address address, NodeId node, const Buffer<Address>& addresses) {
    if (2 * (used_ + 1) > slots_.size() || !place(address, node)) grow(addresses, size_t{node} + 1);
  }
  // Makes room for so many, of which the first `indexed` are there.
  void reserve(size_t expected, const Buffer<Address>& addresses, size_t indexed) {
    if (bits_for(expected) > hash_bits - shift_ && !fill(bits_for(expected), addresses, indexed))
      grow(addresses, indexed);
  }
  size_t bytes() const { return slots_.bytes(); }

 private:
  struct Slot {
    uint32_t node;  // plus one; 0: empty
    uint32_t tag;
  };
  static constexpr unsigned hash_bits = 45;  // of address >> 3
  static constexpr unsigned least_bits = 20;
  // Homes less than this apart differ in the bits that a tag has of them; slots lie no farther from their home.
  static constexpr size_t reach = size_t{1} << (least_bits + 31 - hash_bits);

  static unsigned bits_for(size_t expected) {
    unsigned bits = least_bits;
    while ((size_t{1} << bits) < 2 * expected) ++bits;
    return bits;
  }
  static uint64_t mix(Address address) {
    constexpr uint64_t all = (uint64_t{1} << hash_bits) - 1;
    return ((address >> 3) * 0x9E3779B97F4A7C15ull) & all;  // odd, so a bijection
  }
  size_t home(uint64_t hash) const { return static_cast<size_t>(hash >> shift_); }

  void allocate(unsigned bits) {
    slots_.assign_zero(size_t{1} << bits);
    mask_ = slots_.size() - 1;
    shift_ = hash_bits - bits;
    used_ = 0;
  }
  bool place(Address address, NodeId node) {
    const uint64_t hash = mix(address);
    size_t at = home(hash);
    for (size_t steps = 0; steps < reach; ++steps, at = (at + 1) & mask_) {
      if (slots_[at].node != 0) continue;
      slots_[at] = {node + 1, static_cast<uint32_t>(hash)};
      ++used_;
      return true;
    }
    return false;
  }
  void grow(const Buffer<Address>& addresses, size_t count) {
    unsigned bits = hash_bits - shift_ + 1;
    while (!fill(bits, addresses, count)) ++bits;
  }
  bool fill(unsigned bits, const Buffer<Address>& addresses, size_t count) {
    allocate(bits);
    for (size_t i = 0; i < count; ++i)
      if (!place(addresses[i], static_cast<NodeId>(i))) return false;
    return true;
  }

  Buffer<Slot> slots_;
  size_t mask_ = 0;
  unsigned shift_ = 0;
  size_t used_ = 0;
};

}  // namespace gradlife::heap
