// Modes of a thread that decide whether operations record history.
#pragma once

#include "engine/tensor/dispatch_watch.hpp"

namespace gradlife {

bool grad_enabled();
void set_grad_enabled(bool enabled);

// In inference mode nothing is recorded whatever grad mode says, and new tensors are inference tensors.
bool inference_mode();
void set_inference_mode(bool enabled);
// True if operations record history now.
inline bool is_recording() { return grad_enabled() && !inference_mode() && !is_in_watcher(); }

class GradMode {
 public:
  explicit GradMode(bool enabled) : previous_(grad_enabled()) { set_grad_enabled(enabled); }
  ~GradMode() { set_grad_enabled(previous_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool previous_;
};

}  // namespace gradlife
