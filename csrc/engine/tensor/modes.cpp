#include "engine/tensor/modes.hpp"

namespace gradlife {
namespace {

thread_local bool grad_mode = true;
thread_local bool in_inference_mode = false;

}  // namespace

bool grad_enabled() { return grad_mode; }

void set_grad_enabled(bool enabled) { grad_mode = enabled; }

bool inference_mode() { return in_inference_mode; }

void set_inference_mode(bool enabled) { in_inference_mode = enabled; }

}  // namespace gradlife
