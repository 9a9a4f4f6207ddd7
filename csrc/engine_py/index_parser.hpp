// What an index in Python means: a window on the tensor, and index tensors for the rest.
#pragma once

#include "base/pyref.hpp"
#include "engine/tensor.hpp"

namespace gradlife {

// `window[indices]` is what is named. Without indices the window is all of it.
struct ParsedIndex {
  Tensor window;
  TensorList indices;  // undefined: all of that dimension
};

// Whether a slice that takes all leaves no node behind: only one that is read alone does (`x[:]`).
enum class WholeSlice : uint8_t { is_view, is_nothing };

// Errors: TypeError and IndexError in PyTorch's words.
ParsedIndex parse_index(const Tensor& tensor, PyObject* index, WholeSlice whole);

}  // namespace gradlife
