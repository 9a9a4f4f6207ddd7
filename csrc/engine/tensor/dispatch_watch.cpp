#include "engine/tensor/dispatch_watch.hpp"

#include "engine/policy/error.hpp"

namespace gradlife {
namespace {

thread_local OperationWatcher* watcher_of_thread = nullptr;
thread_local bool runs_watcher = false;

// Created on first use, never destroyed after the interpreter is gone: it is empty unless a view is being made.
Tensor& next_view() {
  thread_local Tensor view;
  return view;
}

}  // namespace

OperationWatcher* set_operation_watcher(OperationWatcher* watcher) { return std::exchange(watcher_of_thread, watcher); }
OperationWatcher* operation_watcher() { return watcher_of_thread; }

bool is_in_watcher() { return runs_watcher; }
bool set_in_watcher(bool inside) { return std::exchange(runs_watcher, inside); }

Tensor only(TensorList&& answer) {
  require(answer.size() == 1 && answer[0], "expected one tensor from __torch_dispatch__, but got ", answer.size());
  return std::move(answer[0]);
}

Tensor ViewFromWatcher::take_view() {
  if (watcher_of_thread == nullptr) return {};
  return std::exchange(next_view(), Tensor());
}

void ViewFromWatcher::keep(TensorList&& answer) {
  was_asked_ = true;
  next_view() = only(std::move(answer));
}

}  // namespace gradlife
