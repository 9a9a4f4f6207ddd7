// The Python type of raw saved slots: `node._raw_saved_x`.
#pragma once

#include "base/pyref.hpp"
#include "engine/graph/node.hpp"
#include "engine/graph/saved_slot.hpp"

namespace gradlife {

// The three types of handles, each derived from the one before: what 1.10 offers, what 2.10 added, what 2.13 added.
void make_saved_tensor_types(PyTypeObject** types);
PyTypeObject* saved_tensor_type(const Policy& policy);
// Returns the handle of one slot of a node, the same object while one is alive. It does not keep the node: once the
// node is dead, the handle reaches whatever is in its place (engine/graph/stale_handles.hpp).
Ref wrap_saved_slot(const NodePtr& node, size_t slot);

}  // namespace gradlife
