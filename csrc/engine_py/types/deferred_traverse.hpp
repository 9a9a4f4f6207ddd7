// What a wrapper will show the collector once it alone owns what stands between: for the heap walk.
#pragma once

#include "base/heap_interface.hpp"

namespace gradlife {

void visit_latent(const void* wrapper, void (*visit)(void* state, void* object, const HeapLatent& latent), void* state);

}  // namespace gradlife
