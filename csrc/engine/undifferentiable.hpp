// The node behind results that have no derivative.
#pragma once

#include "engine/op_node.hpp"

namespace gradlife::ops {

// Gives a floating result a node that raises "derivative for aten::NAME is not implemented" when a gradient reaches it.
Tensor undifferentiable(Tensor result, std::initializer_list<const Tensor*> inputs, const char* operation);
NodePtr undifferentiable_node(std::initializer_list<const Tensor*> inputs, const char* operation);

}  // namespace gradlife::ops
