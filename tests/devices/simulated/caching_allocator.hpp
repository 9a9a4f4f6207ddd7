// A caching allocator over host memory that behaves as CUDA's: segments, blocks that are split and merged, sizes
// rounded to 512 bytes, one pool for each stream, blocks that wait for other streams after they were freed, and private
// pools, whose memory serves nobody else until they are released.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simulated {

struct Frame {
  std::string file;
  int line;
  std::string function;
};

using Stack = std::vector<Frame>;
using PoolId = std::pair<int64_t, int64_t>;  // {0, 0}: the common pool; {n, 0}: of a graph; {0, n}: of a MemPool

struct Block {
  uintptr_t address;
  size_t bytes, requested;
  enum State { used, waiting, free } state;
  std::set<int64_t> streams;  // that use it beside its own
  Stack stack;
};

struct Segment {
  uintptr_t address;
  size_t bytes;
  int64_t stream;
  bool is_small;
  PoolId pool;
  std::list<Block> blocks;
};

struct Failure {
  size_t bytes, device_free;
  Stack stack;
};

class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class CachingAllocator {
 public:
  std::function<Stack()> take_stack = [] { return Stack(); };

  void* allocate(size_t requested, int64_t stream) {
    Stack stack = take_stack();
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t bytes = std::max<size_t>(rounding, (requested + rounding - 1) / rounding * rounding);
    if (Block* found = take(bytes, stream)) return hand_out(*found, requested, std::move(stack));
    if (!reserve(bytes, stream)) {
      release_idle();
      if (!reserve(bytes, stream)) {
        failures.push_back({requested, capacity - reserved_, std::move(stack)});
        throw OutOfMemory("the simulated device is out of memory: " + std::to_string(requested) +
                          " bytes were requested");
      }
    }
    return hand_out(*take(bytes, stream), requested, std::move(stack));
  }

  void deallocate(void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [segment, block] = find(pointer);
    block->state = block->streams.empty() ? Block::free : Block::waiting;
    if (block->state == Block::free) merge(*segment);
  }

  void use_on(void* pointer, int64_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [segment, block] = find(pointer);
    if (segment->stream != stream) block->streams.insert(stream);
  }

  void synchronize(int64_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [address, segment] : segments) {
      for (Block& block : segment.blocks) {
        block.streams.erase(stream);
        if (block.state == Block::waiting && block.streams.empty()) block.state = Block::free;
      }
      merge(segment);
    }
  }

  void release_idle() {
    for (auto at = segments.begin(); at != segments.end();) {
      Segment& segment = at->second;
      const bool is_kept = kept_pools.count(segment.pool) != 0;
      if (!is_kept && segment.blocks.size() == 1 && segment.blocks.front().state == Block::free) {
        std::free(reinterpret_cast<void*>(segment.address));
        reserved_ -= segment.bytes;
        at = segments.erase(at);
      } else {
        ++at;
      }
    }
  }

  void empty_cache() {
    const std::lock_guard<std::mutex> lock(mutex_);
    release_idle();
  }

  size_t reserved() const { return reserved_; }

  size_t allocated() const {
    size_t total = 0;
    for (const auto& [address, segment] : segments)
      for (const Block& block : segment.blocks)
        if (block.state == Block::used) total += block.bytes;
    return total;
  }

  size_t capacity = size_t{1} << 30;
  PoolId pool{0, 0};            // of the next allocations
  std::set<PoolId> kept_pools;  // whose graph lives
  std::map<uintptr_t, Segment> segments;
  std::vector<Failure> failures;

 private:
  // The figures of CUDA's caching allocator.
  static constexpr size_t rounding = 512, small = 1 << 20, small_segment = 2 << 20, large_segment = 20 << 20,
                          own_segment = 10 << 20, segment_rounding = 2 << 20;

  // The smallest free block that is large enough, cut to size; nullptr: none.
  Block* take(size_t bytes, int64_t stream) {
    Segment* best = nullptr;
    std::list<Block>::iterator smallest;
    for (auto& [address, segment] : segments) {
      if (segment.stream != stream || segment.pool != pool || segment.is_small != (bytes <= small)) continue;
      for (auto block = segment.blocks.begin(); block != segment.blocks.end(); ++block)
        if (block->state == Block::free && block->bytes >= bytes && (best == nullptr || block->bytes < smallest->bytes))
          best = &segment, smallest = block;
    }
    if (best == nullptr) return nullptr;
    const size_t rest = smallest->bytes - bytes;
    if (rest >= (best->is_small ? rounding : small + 1)) {
      best->blocks.insert(std::next(smallest), Block{smallest->address + bytes, rest, 0, Block::free, {}, {}});
      smallest->bytes = bytes;
    }
    return &*smallest;
  }

  bool reserve(size_t bytes, int64_t stream) {
    size_t size = small_segment;
    if (bytes > small)
      size = bytes < own_segment ? large_segment : (bytes + segment_rounding - 1) / segment_rounding * segment_rounding;
    if (reserved_ + size > capacity) return false;
    const auto address = reinterpret_cast<uintptr_t>(std::aligned_alloc(4096, size));
    if (address == 0) return false;
    reserved_ += size;
    segments.emplace(
        address, Segment{address, size, stream, bytes <= small, pool, {Block{address, size, 0, Block::free, {}, {}}}});
    return true;
  }

  void* hand_out(Block& block, size_t requested, Stack stack) {
    block.state = Block::used;
    block.requested = requested;
    block.stack = std::move(stack);
    return reinterpret_cast<void*>(block.address);
  }

  std::pair<Segment*, Block*> find(void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    Segment& segment = std::prev(segments.upper_bound(address))->second;
    for (Block& block : segment.blocks)
      if (block.address == address) return {&segment, &block};
    throw std::logic_error("no block begins at this address");
  }

  static void merge(Segment& segment) {
    for (auto block = segment.blocks.begin(); block != segment.blocks.end(); ++block) {
      if (block->state != Block::free) continue;
      for (auto next = std::next(block); next != segment.blocks.end() && next->state == Block::free;) {
        block->bytes += next->bytes;
        next = segment.blocks.erase(next);
      }
    }
  }

  std::mutex mutex_;
  size_t reserved_ = 0;
};

}  // namespace simulated
