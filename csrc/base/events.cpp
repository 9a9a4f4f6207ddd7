#include "base/events.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/managed.hpp"

namespace gradlife {
namespace {

struct Log {
  std::vector<Event> ring;
  uint64_t total = 0;
  uint64_t kept_from = 0;
  bool enabled = true;
};

// Never destroyed: objects held by statics still die, and say so, while the process exits.
Log& log() {
  static Log* instance = new Log;
  return *instance;
}

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

void record(EventKind kind, const Managed& object, const char* detail) {
  Log& events = log();
  if (!events.enabled) return;
  const Event event{events.total,        object.id(), nanoseconds_now(), object.name(), detail, object.use_count(),
                    object.weak_count(), kind,        object.kind()};
  if (events.ring.size() < event_capacity) {
    events.ring.push_back(event);
  } else {
    events.ring[events.total % event_capacity] = event;
  }
  events.total += 1;
}

std::vector<Event> recorded_events() {
  const Log& events = log();
  std::vector<Event> ordered = events.ring;
  std::sort(ordered.begin(), ordered.end(), [](const Event& a, const Event& b) { return a.sequence < b.sequence; });
  ordered.erase(std::remove_if(ordered.begin(), ordered.end(),
                               [&](const Event& event) { return event.sequence < events.kept_from; }),
                ordered.end());
  return ordered;
}

void clear_events() { log().kept_from = log().total; }

uint64_t event_total() { return log().total; }

void enable_events(bool enabled) { log().enabled = enabled; }

bool events_enabled() { return log().enabled; }

}  // namespace gradlife
