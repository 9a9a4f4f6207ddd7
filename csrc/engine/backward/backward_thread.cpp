#include "engine/backward/backward_thread.hpp"

#include <chrono>
#include <exception>
#include <thread>

#include "base/host.hpp"
#include "engine/graph/hooks.hpp"
#include "engine/policy/policy.hpp"

namespace gradlife {

namespace {

// As CPython blocks daemon threads at exit.
[[noreturn]] void block_forever() {
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
      if (!locked.may_touch_objects()) block_forever();  // the interpreter has ended
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
