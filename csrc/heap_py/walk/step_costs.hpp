// The costs of steps. Paths prefer steps that a person can act on, such as a variable of the program, to a table of the
// interpreter's or of a library's own, which costs more.
#pragma once

#include "heap_py/interpreter/provider.hpp"

namespace gradlife::heap {

// After a walk: what the interpreter and the modules of libraries keep for themselves.
void raise_step_costs(Graph& graph, const Builder& builder);

}  // namespace gradlife::heap
