// Work in a copy of this process, whose memory is freed with the copy.
#pragma once

#include <sys/types.h>

#include <functional>

namespace gradlife::heap {

// Forks, lets the copy do the work and exit, and returns its process id, for which the caller waits. No Python code
// runs in the copy, so frames and locks of other threads stay as they are. `niceness` lowers its priority.
// std::system_error: the fork failed.
pid_t start_copy(const std::function<void()>& work, int niceness);

// Waits without the GIL. std::bad_alloc: the copy failed, as it does without memory. PythonErrorSet: a signal's handler
// raised, and the copy was killed.
void wait_for_copy(pid_t copy);

}  // namespace gradlife::heap
