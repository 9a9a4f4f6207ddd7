// The cache of pinned host memory, as torch has it for CUDA: sizes are powers of two, freed blocks stay in the cache,
// and a block that a non-blocking copy reads is not handed out before its stream is done.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

namespace simulated {

class PinnedMemory {
 public:
  void* allocate(size_t requested) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t bytes = std::bit_ceil(requested);
    for (auto& [address, block] : blocks_)
      if (!block.is_used && block.streams.empty() && block.bytes == bytes) return hand_out(address, block);
    const auto address = reinterpret_cast<uintptr_t>(std::malloc(bytes));
    return hand_out(address, blocks_[address] = {bytes, false, {}});
  }

  void deallocate(void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_.at(reinterpret_cast<uintptr_t>(pointer)).is_used = false;
  }

  bool owns(const void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return blocks_.count(reinterpret_cast<uintptr_t>(pointer)) != 0;
  }

  void use_on(const void* pointer, int64_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<uintptr_t>(pointer));
    if (found != blocks_.end()) found->second.streams.insert(stream);
  }

  void synchronize(int64_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [address, block] : blocks_) block.streams.erase(stream);
  }

  void empty_cache() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto at = blocks_.begin(); at != blocks_.end();) {
      const bool is_cached = !at->second.is_used && at->second.streams.empty();
      if (is_cached) std::free(reinterpret_cast<void*>(at->first));
      at = is_cached ? blocks_.erase(at) : std::next(at);
    }
  }

  size_t bytes() { return sum(false); }
  size_t active_bytes() { return sum(true); }

 private:
  struct Block {
    size_t bytes;
    bool is_used;
    std::set<int64_t> streams;  // whose copies may still read it
  };

  static void* hand_out(uintptr_t address, Block& block) {
    block.is_used = true;
    return reinterpret_cast<void*>(address);
  }

  size_t sum(bool active_alone) {
    const std::lock_guard<std::mutex> lock(mutex_);
    size_t total = 0;
    for (const auto& [address, block] : blocks_)
      if (!active_alone || block.is_used || !block.streams.empty()) total += block.bytes;
    return total;
  }

  std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;
};

}  // namespace simulated
