// PyTorch's warnings, by release.
#pragma once

#include "base/pyref.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

inline constexpr const char* indexed_assignment = "tensor[indices] = tensor";

// Before an in-place operation on several elements that are one place in memory, which may be refused one day. `again`:
// what else may have led there.
void warn_of_expanded(const TensorImpl& target, const char* operation, const char* again);
// A tensor with a history becomes a number of Python's, without it. Once in a process, unless warnings are given
// always.
void warn_of_lost_history(const Tensor& tensor);

extern PyMethodDef warning_functions[];

}  // namespace gradlife
