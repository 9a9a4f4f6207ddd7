// A new thread for work nested too deep for the calling one.
#pragma once

#include <functional>

namespace gradlife {

// Runs `work` in a new thread with this thread's policy and default hooks, and waits for it without the interpreter
// lock. Exceptions are rethrown here. The thread ends with the work, so there are never more than the nesting needs.
void run_in_own_thread(const std::function<void()>& work);

}  // namespace gradlife
