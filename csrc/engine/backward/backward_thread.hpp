// Runs a backward in its own thread: deep nesting, or releases with a backward worker.
#pragma once

#include <functional>

namespace gradlife {

// Runs `work` in a new thread with this thread's policy and default hooks, and waits for it without the interpreter
// lock. Exceptions are rethrown here. The thread ends with the work: there is at most one thread per level of nesting.
void run_in_own_thread(const std::function<void()>& work);

}  // namespace gradlife
