// A scope in which Python's cyclic collector does not run by itself.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

// Pauses the collector while objects are looked at, because it would free some meanwhile: up to Python 3.11 any
// allocation may start it.
class CollectorPaused {
 public:
  CollectorPaused() : was_enabled_(PyGC_Disable() != 0) {}
  ~CollectorPaused() {
    if (was_enabled_) PyGC_Enable();
  }
  CollectorPaused(const CollectorPaused&) = delete;
  CollectorPaused& operator=(const CollectorPaused&) = delete;

 private:
  bool was_enabled_;
};

}  // namespace gradlife
