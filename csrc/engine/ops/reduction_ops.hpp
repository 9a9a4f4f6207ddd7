// Operations along dimensions: reductions (products, extrema, moments), and normalisation along one. All are
// differentiable any number of times, except those that return counts, indices or bools.
#pragma once

#include <optional>
#include <utility>

#include "engine/ops/ops.hpp"

namespace gradlife::ops {

using OptionalDims = std::optional<Dims>;  // none: all of them
using TwoTensors = std::pair<Tensor, Tensor>;

// Products. `dtype`, if given, is that of the result; products of integers are int64.
Tensor prod(const Tensor& a, const DType* dtype = nullptr);
Tensor prod(const Tensor& a, int64_t dim, bool keepdim, const DType* dtype = nullptr);

// The largest element. A nan counts as largest; of equal elements the first is taken. Error: no elements.
Tensor max(const Tensor& a);
TwoTensors max(const Tensor& a, int64_t dim, bool keepdim);  // values and indices
// The larger of each tensor of a list and a number: one for all, or one for each. Errors: no tensors; other counts.
TensorList maximum_of_list(const TensorList& inputs, const std::vector<Scalar>& numbers, bool one_number);

// Moments: the sum of squared distances over the number of elements minus `correction` (1 by default).
using Correction = std::optional<Scalar>;
TwoTensors var_mean(const Tensor& a, const OptionalDims& dims, const Correction& correction, bool keepdim);

// Along one dimension, in the requested dtype.
Tensor softmax(const Tensor& a, int64_t dim, const DType* dtype = nullptr);
Tensor logsumexp(const Tensor& a, const Dims& dims, bool keepdim);

// Counting: bools, numbers of elements, and sums and means that leave out nans.
Tensor all_of_dims(const Tensor& a, const Dims& dims, bool keepdim);
Tensor any_of_dims(const Tensor& a, const Dims& dims, bool keepdim);
Tensor count_nonzero(const Tensor& a, const Dims& dims);

}  // namespace gradlife::ops
