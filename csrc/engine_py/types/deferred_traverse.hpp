// References that a wrapper shows the collector only as the sole owner of the objects in between, for the heap walk.
#pragma once

#include "base/heap_interface.hpp"

namespace gradlife {

void visit_latent(const void* wrapper, void (*visit)(void* state, void* object, const HeapLatent& latent), void* state);

}  // namespace gradlife
