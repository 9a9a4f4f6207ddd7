// The Python type of OneFlow's nodes: one for all of them, custom Functions included, whose context nobody can
// reach from `grad_fn`.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

Ref make_oneflow_node_type();

}  // namespace gradlife
