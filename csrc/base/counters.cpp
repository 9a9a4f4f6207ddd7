#include "base/counters.hpp"

namespace gradlife {

std::array<std::atomic<int64_t>, kind_count> live_counters{};
std::atomic<int64_t> live_storage_bytes{0};

const char* kind_name(Kind kind) {
  static constexpr std::array<const char*, kind_count> names = {"tensor", "storage", "node",   "block",
                                                                "saved",  "hook",    "context"};
  return names[static_cast<size_t>(kind)];
}

}  // namespace gradlife
