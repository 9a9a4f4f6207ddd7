// Nodes that raise instead of passing a gradient, or drop it.
#pragma once

#include <string>

#include "engine/tensor/tensor.hpp"

namespace gradlife {

// Return aliases of `inputs` as outputs of an "Error" node, which raises `text` when run. Used for gradients that
// cannot be differentiated again. Empty inputs stay empty.
TensorList with_delayed_error(const TensorList& inputs, const std::string& text);

// Return aliases of `results`, behind such a node if one of `inputs`, from which they were computed, requires grad.
TensorList with_delayed_error(const TensorList& inputs, const TensorList& results, const std::string& text);

// Return aliases of `inputs` behind an "UndefinedGradBackward" node, which passes no gradient.
TensorList without_gradient(const TensorList& inputs);

}  // namespace gradlife
