// What products that are added to a tensor refuse, in PyTorch's order and words.
#pragma once

#include "engine/product_ops.hpp"

namespace gradlife::ops {

// Error: it can't be broadcast to these sizes.
void require_expandable(const Tensor& input, const Dims& sizes);
void check_vector(const TensorImpl& vector, const char* operation, const char* name);
void check_addmm(const TensorImpl& input, const TensorImpl& a, const TensorImpl& b);
void check_addmv(const TensorImpl& input, const TensorImpl& a, const TensorImpl& b);
void check_addr(const TensorImpl& input, const TensorImpl& a, const TensorImpl& b, const Factors& factors);
void check_baddbmm(const Tensor& input, const TensorImpl& a, const TensorImpl& b);
void check_addbmm(const Tensor& input, const TensorImpl& a, const TensorImpl& b);

}  // namespace gradlife::ops
