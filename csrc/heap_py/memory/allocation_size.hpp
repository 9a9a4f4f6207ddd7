// The size of a C++ object, from the allocator's own metadata.
#pragma once

#include "heap_py/memory/page_cache.hpp"

namespace gradlife::heap {

// Bytes from an object to the end of the block that malloc gave for it, or for it and the counts that make_shared puts
// in front. 0: it stands in no such block. `malloc_usable_size` would follow the counts of make_shared as a size, and
// crash.
uint64_t object_bytes(const PageCache& reader, Address object);

}  // namespace gradlife::heap
