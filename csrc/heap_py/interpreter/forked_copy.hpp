// Work in a copy of this process: what it takes of memory is gone with the copy.
#pragma once

#include <functional>

namespace gradlife::heap {

// Forks, has the copy do the work and exit, and waits for it without the GIL. No code of Python runs in the copy, so
// the frames and locks of other threads stay in it as they are. std::system_error: the system allows no copy;
// std::bad_alloc: it came to no good end, which is what a copy does that finds no memory.
void do_in_copy(const std::function<void()>& work);

}  // namespace gradlife::heap
