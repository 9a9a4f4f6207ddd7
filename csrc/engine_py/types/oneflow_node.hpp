// The Python type of OneFlow's nodes: one for all of them, including custom Functions, whose context cannot be reached
// from `grad_fn`.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

Ref make_oneflow_node_type();

}  // namespace gradlife
