// A thread for work that would go too deep in the one it was asked in.
#pragma once

#include <functional>

namespace gradlife {

// Runs `work` in a new thread with this thread's policy and default hooks, and waits for it without the interpreter
// lock. What it throws is thrown here. The thread ends with the work: none is left behind, and there are never more
// than the nesting needs.
void run_in_own_thread(const std::function<void()>& work);

}  // namespace gradlife
