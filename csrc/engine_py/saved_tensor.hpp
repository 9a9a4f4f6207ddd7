// The Python type of raw saved slots: `node._raw_saved_x`.
#pragma once

#include "base/pyref.hpp"
#include "engine/node.hpp"
#include "engine/saved_slot.hpp"

namespace gradlife {

Ref make_saved_tensor_type();
// The handle of one slot of a node; the same object as long as one is held. It does not keep the node. In PyTorch such
// a handle dangles once the node died, and reads another graph's memory; here it raises.
Ref wrap_saved_slot(const NodePtr& node, size_t slot);

}  // namespace gradlife
