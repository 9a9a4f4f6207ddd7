// Operations that name elements by tensors: of positions, or of truth values.
#pragma once

#include "engine/changing.hpp"
#include "engine/ops.hpp"

namespace gradlife::ops {

// `a[indices]`: an undefined index takes all of its dimension. Errors: see kernels::plan_index.
Tensor index(const Tensor& a, const TensorList& indices);
// Errors: besides those, values of another dtype, or that can't be broadcast to what is named.
Tensor index_put(const Tensor& a, const TensorList& indices, const Tensor& values, bool accumulate = false);
Tensor index_put_in_place(const Tensor& target, const TensorList& indices, const Tensor& values,
                          bool accumulate = false);

// Elements by their position along one dimension, with an index of as many dimensions as the tensor (gathering.cpp).
// Errors: an index of another dtype or shape, or out of bounds.
Tensor gather(const Tensor& a, int64_t dim, const Tensor& index);
Tensor scatter(const Tensor& a, int64_t dim, const Tensor& index, const Tensor& source, Form form);
Tensor scatter_number(const Tensor& a, int64_t dim, const Tensor& index, const Scalar& value, Form form);
Tensor scatter_add(const Tensor& a, int64_t dim, const Tensor& index, const Tensor& source, Form form);
enum class Combine : uint8_t { add, multiply };
// Has no derivative.
Tensor scatter_combine(const Tensor& a, int64_t dim, const Tensor& index, const Tensor& source, Combine combine,
                       Form form);
Tensor take_along_dim(const Tensor& a, const Tensor& indices, int64_t dim);
Tensor take_along_dim(const Tensor& a, const Tensor& indices);  // of all elements in one row

// Slices by their position along one dimension, with an index that is a vector (slices.cpp).
Tensor index_select(const Tensor& a, int64_t dim, const Tensor& index);
Tensor index_add(const Tensor& a, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha,
                 Form form);
Tensor index_copy(const Tensor& a, int64_t dim, const Tensor& index, const Tensor& source, Form form);
Tensor index_fill(const Tensor& a, int64_t dim, const Tensor& index, const Scalar& value, Form form);
Tensor index_fill(const Tensor& a, int64_t dim, const Tensor& index, const Tensor& value, Form form);

// Elements by their number (taking.cpp).
Tensor take(const Tensor& a, const Tensor& index);
Tensor put(const Tensor& a, const Tensor& index, const Tensor& source, bool accumulate, Form form);

// Elements by truth values (masking.cpp).
Tensor masked_fill(const Tensor& a, const Tensor& mask, const Scalar& value, Form form);
Tensor masked_fill(const Tensor& a, const Tensor& mask, const Tensor& value, Form form);
Tensor masked_select(const Tensor& a, const Tensor& mask);
Tensor masked_scatter(const Tensor& a, const Tensor& mask, const Tensor& source, Form form);
Tensor nonzero(const Tensor& a);            // one row for each element other than 0
TensorList nonzero_tuple(const Tensor& a);  // one vector for each dimension

}  // namespace gradlife::ops
