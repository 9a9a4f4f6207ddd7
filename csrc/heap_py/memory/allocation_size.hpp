// The size of a C++ object, from the allocator's own metadata.
#pragma once

#include "heap_py/memory/page_cache.hpp"

namespace gradlife::heap {

// Returns the bytes from an object to the end of its malloc block, which may have the counts of make_shared before the
// object; 0: there is no such block. `malloc_usable_size` would take the counts of make_shared for a size, and crash.
uint64_t object_bytes(const PageCache& reader, Address object);

}  // namespace gradlife::heap
