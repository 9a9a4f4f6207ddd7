// Work in a copy of this process: what it takes of memory is gone with the copy.
#pragma once

#include <sys/types.h>

#include <functional>

namespace gradlife::heap {

// Forks, and has the copy do the work and exit. No code of Python runs in the copy, so the frames and locks of other
// threads stay in it as they are. It gives way to other processes by its niceness. Returns its number, for which the
// caller waits. std::system_error: the system allows no copy.
pid_t start_copy(const std::function<void()>& work, int niceness);

// Waits without the GIL. std::bad_alloc: the copy came to no good end, which is what it does that finds no memory.
void wait_for_copy(pid_t copy);

}  // namespace gradlife::heap
