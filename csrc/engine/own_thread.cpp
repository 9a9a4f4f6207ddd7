#include "engine/own_thread.hpp"

#include <exception>
#include <thread>

#include "base/host.hpp"
#include "base/policy.hpp"
#include "engine/hooks.hpp"

namespace gradlife {

void run_in_own_thread(const std::function<void()>& work) {
  std::exception_ptr error;
  const Policy* policy = current_policy();
  const std::function<void()> set_default_hooks = copy_of_default_hooks();
  {
    const Unlocked unlocked;
    std::thread thread([&] {
      const Locked locked;
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
