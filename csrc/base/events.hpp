// The event log: what happened to which object, in order. It is a ring buffer: new events overwrite the oldest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/counters.hpp"

namespace gradlife {

enum class EventKind : uint8_t {
  created,
  wrapped,      // a tensor or node got a Python wrapper
  dropped,      // a wrapper died that owned its tensor or node
  flipped,      // ownership changed its direction: the tensor owns its wrapper, or the wrapper its tensor
  resurrected,  // a wrapper without Python references was kept, because C++ still owns its tensor
  saved,        // a tensor was saved for the backward pass
  packed,       // a pack hook was called
  unpacked,     // an unpack hook was called
  released,     // a node let go of its saved tensors, or of its edges
  hook,         // a hook was called; `detail` has its kind
  destroyed,
  count_
};

const char* event_name(EventKind kind);

struct Event {
  uint64_t sequence;
  uint64_t object;       // Managed::id
  uint64_t nanoseconds;  // monotonic clock
  const char* name;      // of the object, such as "SinBackward0"; static or interned text
  const char* detail;    // static text, or nullptr
  uint32_t strong;
  uint32_t weak;
  EventKind kind;
  Kind object_kind;
};

constexpr size_t event_capacity = 1 << 16;

Event& append_event();                 // with its sequence number and time; the caller fills in the rest
std::vector<Event> recorded_events();  // oldest first
void clear_events();
uint64_t event_total();  // since the process began, overwritten ones too
void enable_events(bool enabled);
bool events_enabled();

}  // namespace gradlife
