// PyTorch's warnings, by release.
#pragma once

#include "base/pyref.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

// Warns with the place of the calling Python code. Nothing while gradlife.engine is being imported.
void warn(PyObject* category, const char* text);
inline constexpr const char* indexed_assignment = "tensor[indices] = tensor";

// Warns before an in-place operation on elements that share memory, which a later release may refuse. `again`: another
// possible cause.
void warn_of_expanded(const TensorImpl& target, const char* operation, const char* again);
// Warns when a tensor with a history is converted to a Python number, which drops it. Once per process, unless warnings
// are always shown.
void warn_of_lost_history(const Tensor& tensor);
// Warns of the cycle that `create_graph` makes. Once per process, unless warnings are always shown.
void warn_of_created_graph();
// Warns of T of a tensor that is no matrix. Once per process, unless warnings are always shown.
void warn_of_transpose(size_t dim);

extern PyMethodDef warning_functions[];

}  // namespace gradlife
