// Errors of in-place operations other than those of autograd: overlapping memory, a result that does not fit.
#pragma once

#include "engine/tensor/tensor.hpp"

namespace gradlife::ops {

// Error: two elements of the target share memory (it was expanded).
void refuse_overlap(const TensorImpl& target);
// Error: target and source share some memory but are not the same window.
void refuse_partial_overlap(const TensorImpl& target, const TensorImpl& source);
// Error: target and source share some memory.
void refuse_shared_memory(const TensorImpl& target, const TensorImpl& source);
// True if a value may be cast to `to` implicitly: no float to an integer, no number to a bool.
bool can_cast(DType from, DType to);
// The C name of a dtype, as in some of PyTorch's texts: "long int".
const char* ctype_name(DType dtype);
// Error: a result of this dtype can't be stored in the target (a float in an integer tensor).
void refuse_cast(DType result, const TensorImpl& target);
// Error: the result of broadcasting has another shape than the target.
void refuse_resize(const TensorImpl& target, const Dims& result);

}  // namespace gradlife::ops
