// The costs of steps. Paths prefer steps that a person can act on, such as a variable of the program, to the more
// costly tables of the interpreter or of a library.
#pragma once

#include "heap_py/interpreter/provider.hpp"

namespace gradlife::heap {

// Call it after a walk: raises the costs of tables of the interpreter and of library modules.
void raise_step_costs(Graph& graph, const Builder& builder);

}  // namespace gradlife::heap
