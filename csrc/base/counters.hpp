// Exact live counts per kind of engine object, to check that the tool itself does not leak.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gradlife {

enum class Kind : uint8_t { tensor, storage, node, block, saved, hook, context, count_ };

constexpr size_t kind_count = static_cast<size_t>(Kind::count_);
const char* kind_name(Kind kind);

extern std::array<std::atomic<int64_t>, kind_count> live_counters;
extern std::atomic<int64_t> live_storage_bytes;

inline void count_live(Kind kind, int64_t by) {
  live_counters[static_cast<size_t>(kind)].fetch_add(by, std::memory_order_relaxed);
}

// A member that counts the object it is part of.
template <Kind kind>
struct LiveCount {
  LiveCount() { count_live(kind, 1); }
  LiveCount(const LiveCount&) { count_live(kind, 1); }
  LiveCount& operator=(const LiveCount&) = default;
  ~LiveCount() { count_live(kind, -1); }
};

}  // namespace gradlife
