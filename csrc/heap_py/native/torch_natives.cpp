// Torch's objects without a known referrer, and the number of owners of each.
#include <stdexcept>

#include "heap_py/native/census.hpp"
#include "heap_py/providers/torch/provider.hpp"

namespace gradlife::heap {
namespace {

constexpr const char* unseen = "C++ objects that nothing in Python leads to";

// A node without a count of its own begins with a std::weak_ptr to itself: its address, and the control block with the
// count. Returns -1 if that cannot be read, or another library than libstdc++ lays it out.
template <class Reader>
int64_t owners_in_block([[maybe_unused]] const Reader& reader, [[maybe_unused]] Address node) {
#ifdef __GLIBCXX__
  constexpr uint32_t itself = 8, block_of_itself = 16, count_in_block = 8, max_owners = 1 << 24;
  uint64_t same, block, counts;
  if (!reader.read_word(node + itself, &same) || same != node) return -1;
  if (!reader.read_word(node + block_of_itself, &block) || !reader.read_word(block + count_in_block, &counts))
    return -1;
  const uint32_t count = static_cast<uint32_t>(counts);
  return count - 1 < max_owners ? static_cast<int64_t>(count) : -1;
#else
  return -1;
#endif
}

}  // namespace

int64_t TorchProvider::native_owners(const void* object, uint32_t type) {
  const Address address = static_cast<Address>(reinterpret_cast<uintptr_t>(object));
  if (layout_.count_in_target == TorchLayout::absent || class_of(address).what != kinds_[type]) return -1;
  return is_node(kinds_[type]) && !layout_.are_nodes_coupled ? owners_in_block(reader_, address) : count_of(address);
}

void TorchProvider::find_natives(const std::function<void(const void* object, uint32_t type)>& report) {
  if (NativeCensus::why_not() != nullptr) {
    limits_.push_back(std::string(unseen) + ": " + NativeCensus::why_not());
    return;
  }
  NativeCensus census(&layout_);
  census.keep_objects();
  try {
    census.run();
  } catch (const std::runtime_error& error) {
    limits_.push_back(std::string(unseen) + ": " + error.what());
    return;
  }
  if (census.lost_heaps() != 0)
    limits_.push_back(std::string(unseen) + ", in memory that other threads changed faster than it can be read");
  for (const NativeCensus::Object& found : census.objects()) {
    const KnownClass& known = class_of(found.address);
    NodeKind kind;
    if (kind_of(found.address, known, &kind))
      report(reinterpret_cast<const void*>(static_cast<uintptr_t>(found.address)), row_of(known, kind, found.address));
  }
}

}  // namespace gradlife::heap
