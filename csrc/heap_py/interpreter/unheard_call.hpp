// Calls of gradlife's functions that no trace or profile function of the program hears.
#pragma once

#include "base/pyref.hpp"

namespace gradlife::heap {

// The type UnheardCall: a call of an instance calls its method `called` with the same arguments, without the tracing of
// this thread.
Ref make_unheard_call_type(PyObject* module);

}  // namespace gradlife::heap
