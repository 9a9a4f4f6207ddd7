// Operations that select elements by tensors: of positions, or of bools.
#pragma once

#include "engine/ops/ops.hpp"
#include "engine/ops/partial_update.hpp"

namespace gradlife::ops {

// `a[indices]`: an undefined index takes the whole dimension. Errors: see kernels::plan_index.
Tensor index(const Tensor& a, const TensorList& indices);
// Other errors: values of another dtype, or that cannot be broadcast to the selection.
Tensor index_put(const Tensor& a, const TensorList& indices, const Tensor& values, bool accumulate = false);
Tensor index_put_in_place(const Tensor& target, const TensorList& indices, const Tensor& values,
                          bool accumulate = false);

// Selection by bools (masks.cpp).
Tensor masked_fill(const Tensor& a, const Tensor& mask, const Scalar& value, Form form = Form::plain_copy);
Tensor masked_fill(const Tensor& a, const Tensor& mask, const Tensor& value, Form form = Form::plain_copy);

}  // namespace gradlife::ops
