#include "base/events.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace gradlife {
namespace {

struct Log {
  std::array<Event, event_capacity> ring;
  uint64_t total;
  uint64_t kept_from;
  bool is_off;
};

// Zero-initialized, without constructor or destructor, so that an object can log its death at any time, even without
// memory and while the process exits. Pages without an event take no memory.
Log events;

uint64_t nanoseconds_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

const char* event_name(EventKind kind) {
  static constexpr std::array<const char*, static_cast<size_t>(EventKind::count_)> names = {
      "created", "wrapped",  "dropped",  "flipped", "resurrected", "saved",
      "packed",  "unpacked", "released", "hook",    "destroyed"};
  return names[static_cast<size_t>(kind)];
}

Event& append_event() {
  Event& event = events.ring[events.total % event_capacity];
  event.sequence = events.total++;
  event.nanoseconds = nanoseconds_now();
  return event;
}

std::vector<Event> recorded_events() {
  const uint64_t oldest = events.total < event_capacity ? 0 : events.total - event_capacity;
  std::vector<Event> ordered;
  for (uint64_t number = std::max(oldest, events.kept_from); number < events.total; ++number)
    ordered.push_back(events.ring[number % event_capacity]);
  return ordered;
}

void clear_events() { events.kept_from = events.total; }

uint64_t event_total() { return events.total; }

void enable_events(bool enabled) { events.is_off = !enabled; }

bool events_enabled() { return !events.is_off; }

}  // namespace gradlife
