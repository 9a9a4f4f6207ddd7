// The native scan among blocks of memory: what their words, and pointers to them, reveal about their kind.
#include "heap_py/native/scan.hpp"

#include <algorithm>

namespace gradlife::heap {
namespace {

constexpr size_t max_items = 200000;
constexpr uint64_t searched_starts = 64;  // pointers lead to a block's first bytes, as some blocks have a header

}  // namespace

// Reads the block's extent from the words around a reference. False: the reference to the target is behind the end of a
// vector, so it is stale.
bool NativeScan::read_shape(Address at, Item& inner, bool* is_function) {
  uint64_t words[4];
  if (!reader_.read(at, words, sizeof words)) return true;
  const bool has_functions = map_.is_code(words[2]) && map_.is_code(words[3]);
  if (has_functions) *is_function = true;
  if (inner.shape != Shape::block || inner.name != nullptr || words[0] != inner.first) return true;
  if (has_functions) {
    inner.shape = Shape::captures;
  } else if (words[0] <= words[1] && words[1] <= words[2] && words[0] < words[2] && words[2] <= inner.last) {
    if (inner.offset >= words[1] - words[0]) {
      inner.is_stale = true;
      if (items_[inner.inner].shape == Shape::target) origins_[inner.origin].is_closed = true;
      return false;
    }
    inner.shape = Shape::vector;
  }
  return true;
}

// A std::string of libstdc++ stores a short text in itself: address of the text, length, and 16 bytes, which have stale
// contents after the text.
bool NativeScan::is_in_short_text(Address at) const {
  constexpr uint64_t longest = 15, head = 2 * sizeof(uint64_t);
  for (const Address text : {at, at - sizeof(uint64_t)}) {
    struct {
      uint64_t text, length;
      char characters[longest + 1];
    } string;
    if (reader_.read(text - head, &string, sizeof string) && string.text == text && string.length <= longest &&
        string.characters[string.length] == 0)
      return true;
  }
  return false;
}

// A longer text is stored elsewhere, and the last 8 of the 16 bytes are unused: address, length, capacity, unused.
bool NativeScan::is_behind_long_text(Address at) const {
  constexpr uint64_t least = 16, most = 255;
  struct {
    uint64_t text, length, capacity;
  } string;
  char characters[most + 1];
  if (!reader_.read(at - sizeof string, &string, sizeof string) || string.length < least || string.length > most ||
      string.capacity < string.length || !reader_.read(string.text, characters, string.length + 1))
    return false;
  return std::find(characters, characters + string.length + 1, '\0') == characters + string.length;
}

// Whether nothing is known about the block.
bool NativeScan::is_plain(uint32_t item) const {
  return items_[item].shape == Shape::block && items_[item].name == nullptr;
}

// Whether it is a Python object's C++ part with a count of one: then its wrapper owns it.
bool NativeScan::is_owned_by_target(const Arrival& arrival, const std::string& name) const {
  uint64_t count = 0;  // the strong count, the low half of the word since 1.0
  return !is_for_natives_ && items_[arrival.item].shape == Shape::target &&
         (name.find("TensorImplE") != std::string::npos || name.find("StorageImplE") != std::string::npos) &&
         reader_.read_word(arrival.block.first + sizeof(uint64_t), &count) && static_cast<uint32_t>(count) == 1;
}

// Whether it cannot be a holder: the tool's own object; a storage, whose block has numbers or stale contents.
bool NativeScan::is_no_holder(const Arrival& arrival, const std::string& name) const {
  uint64_t vtable = 0;
  if (reader_.read_word(arrival.block.first, &vtable) && is_own(vtable)) return true;
  if (is_owned_by_target(arrival, name)) return true;
  return name.find("StorageImplE") != std::string::npos && items_[arrival.item].shape != Shape::target;
}

// Whether the block is a pool that its own allocator has not used: it begins with one free entry of the full size. C++
// runtimes keep such a pool for exceptions when memory is out; its stale contents are never overwritten.
bool NativeScan::is_unused_pool(const Block& block) const {
  constexpr uint64_t min_pool = 1024, rounding = 64;
  uint64_t entry[2];  // size, next
  return block.bytes() >= min_pool && reader_.read(block.first, entry, sizeof entry) && entry[1] == 0 &&
         entry[0] <= block.bytes() && entry[0] + rounding > block.bytes();
}

void NativeScan::add_block(const Arrival& arrival, uint32_t origin) {
  for (const Item* item = &items_[arrival.item]; item->shape != Shape::target; item = &items_[item->inner])
    if (item->first == arrival.block.first) return;
  if (items_.size() >= max_items) return;
  Item item;
  static_cast<AddressRange&>(item) = arrival.block;
  item.name = names_.of_object(item.first);
  if (item.name != nullptr && is_no_holder(arrival, *item.name)) {
    origins_[origin].is_stale = true;
    return;
  }
  if (item.name == nullptr && is_unused_pool(arrival.block)) return;
  item.is_function = arrival.is_function;
  item.inner = arrival.item;
  item.origin = origin;
  item.offset = arrival.at - item.first;
  item.confidence = std::max(confidence_of(arrival), item.name != nullptr ? Confidence::sure : Confidence::likely);
  items_.push_back(item);
  const auto added = static_cast<uint32_t>(items_.size() - 1);
  if (origins_[origin].item == 0) origins_[origin].item = added;
  if (item.name == nullptr && climb_tree(added)) return;
  // The last word is where malloc's next chunk begins, which malloc's own lists point to.
  const Address last = std::min(item.last - sizeof(uint64_t), item.first + searched_starts);
  for (Address start = item.first; start < last; start += sizeof(uint64_t)) seekers_.push_back({start, added});
}

// Climbs from a node of a std::map and the like: colour, parent, left, right. Parents lead to the header in the map.
bool NativeScan::climb_tree(uint32_t item) {
  struct Node {
    uint64_t colour, parent, left, right;
  } node, parent;
  Address at = items_[item].first;
  for (int steps = 0; steps < 96; ++steps) {
    if (!reader_.read(at, &node, sizeof node) || (node.colour & 0xffffffff) > 1) return false;
    if (!looks_like_pointer(node.parent) || !reader_.read(node.parent, &parent, sizeof parent)) return false;
    if (parent.parent == at && (parent.colour & 0xffffffff) == 0) {  // the header and the root are each other's parents
      items_[item].shape = Shape::map_node;
      arrive(node.parent, item, 1);
      return true;
    }
    if (parent.left != at && parent.right != at) return false;
    at = node.parent;
  }
  return false;
}

}  // namespace gradlife::heap
