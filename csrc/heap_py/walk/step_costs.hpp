// Which paths to an object a person can act on: a variable of the program rather than a table of the interpreter's or
// of a library's own. Paths prefer them, for steps onto the others are made dearer.
#pragma once

#include "heap_py/interpreter/provider.hpp"

namespace gradlife::heap {

// After a walk: what the interpreter and the modules of libraries keep for themselves.
void raise_step_costs(Graph& graph, const Builder& builder);

}  // namespace gradlife::heap
