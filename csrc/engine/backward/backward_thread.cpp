#include "engine/backward/backward_thread.hpp"

#include <chrono>
#include <exception>
#include <thread>

#include "base/host.hpp"
#include "engine/graph/hooks.hpp"
#include "engine/policy/policy.hpp"

namespace gradlife {

namespace {

[[noreturn]] void stay() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

void run_in_own_thread(const std::function<void()>& work) {
  if (!host().is_alive()) return work();  // no other thread can take the interpreter lock now
  std::exception_ptr error;
  const Policy* policy = current_policy();
  const std::function<void()> set_default_hooks = copy_of_default_hooks();
  {
    const Unlocked unlocked;
    std::thread thread([&] {
      const Locked locked;
      if (!locked.may_touch_objects()) stay();  // the interpreter ended, and with it the waiting daemon thread
      try {
        set_thread_policy(policy);
        set_default_hooks();
        work();
      } catch (...) {
        error = std::current_exception();
      }
    });
    thread.join();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace gradlife
