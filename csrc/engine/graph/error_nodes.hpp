// Nodes that stand where a gradient is refused or swallowed.
#pragma once

#include <string>

#include "engine/tensor/tensor.hpp"

namespace gradlife {

// The same data as `inputs` (empty where they are), each an output of one node ("Error") that raises `text` when it is
// run: gradients of a backward that can't be differentiated again.
TensorList with_delayed_error(const TensorList& inputs, const std::string& text);

// The same data behind a node ("UndefinedGradBackward") that lets no gradient through.
TensorList without_gradient(const TensorList& inputs);

}  // namespace gradlife
