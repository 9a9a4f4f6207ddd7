// Operations that go along dimensions: what removes some (products, extrema, moments), and what normalises along one.
// All but those that give numbers of elements, indices or bools are differentiable any number of times.
#pragma once

#include <optional>
#include <utility>

#include "engine/ops.hpp"

namespace gradlife::ops {

using OptionalDims = std::optional<Dims>;  // without: all of them
using TwoTensors = std::pair<Tensor, Tensor>;

// Products. `dtype`, where given, is the result's; products of integers are int64.
Tensor prod(const Tensor& a, const DType* dtype = nullptr);
Tensor prod(const Tensor& a, int64_t dim, bool keepdim, const DType* dtype = nullptr);

// Extrema. A nan is larger and smaller than everything; of equal elements the first one counts. Errors: no elements.
enum class Extreme : uint8_t { max, min };
Tensor extremum(Extreme which, const Tensor& a);
TwoTensors extremum(Extreme which, const Tensor& a, int64_t dim, bool keepdim);           // values and indices
Tensor extremum_of_dims(Extreme which, const Tensor& a, const Dims& dims, bool keepdim);  // amax, amin
Tensor index_of_extremum(Extreme which, const Tensor& a, const std::optional<int64_t>& dim, bool keepdim);
Tensor larger_or_smaller(Extreme which, const Tensor& a, const Tensor& b);  // maximum, minimum

// The same for each tensor of a list, against one number, one for each, or another list. Errors: none; other counts.
TensorList bounded_list(Extreme which, const TensorList& inputs, const std::vector<Scalar>& numbers, bool one_number);
TensorList larger_or_smaller(Extreme which, const TensorList& a, const TensorList& b);

// Moments: the sum of squared distances over the number of elements less `correction` (1 where none is given).
using Correction = std::optional<Scalar>;
Tensor var(const Tensor& a, const OptionalDims& dims, const Correction& correction, bool keepdim);
Tensor std(const Tensor& a, const OptionalDims& dims, const Correction& correction, bool keepdim);
TwoTensors var_mean(const Tensor& a, const OptionalDims& dims, const Correction& correction, bool keepdim);
TwoTensors std_mean(const Tensor& a, const OptionalDims& dims, const Correction& correction, bool keepdim);

// Along one dimension, in the dtype that is asked for.
Tensor softmax(const Tensor& a, int64_t dim, const DType* dtype = nullptr);
Tensor log_softmax(const Tensor& a, int64_t dim, const DType* dtype = nullptr);
Tensor logsumexp(const Tensor& a, const Dims& dims, bool keepdim);

// Norms: the root of a sum of powers of magnitudes; for the orders 0, inf and -inf how many are not 0, the largest, the
// smallest. Errors: no floats; no elements where the largest or smallest is asked for.
Tensor vector_norm(const Tensor& a, const Scalar& order, const OptionalDims& dims, bool keepdim, const DType* dtype);
Tensor dist(const Tensor& a, const Tensor& b, const Scalar& order);  // the norm of the difference

// From the first element to each one, along one dimension. Of integers in int64.
Tensor cumsum(const Tensor& a, int64_t dim, const DType* dtype = nullptr);
Tensor cumprod(const Tensor& a, int64_t dim, const DType* dtype = nullptr);
Tensor logcumsumexp(const Tensor& a, int64_t dim);
Tensor cumsum_in_place(const Tensor& target, int64_t dim, const DType* dtype);
Tensor cumprod_in_place(const Tensor& target, int64_t dim, const DType* dtype);

// Counting: bools, numbers of elements, and sums and means that leave out nans.
Tensor all_of_dims(const Tensor& a, const Dims& dims, bool keepdim);
Tensor any_of_dims(const Tensor& a, const Dims& dims, bool keepdim);
Tensor count_nonzero(const Tensor& a, const Dims& dims);
Tensor nansum(const Tensor& a, const OptionalDims& dims, bool keepdim, const DType* dtype);
Tensor nanmean(const Tensor& a, const OptionalDims& dims, bool keepdim, const DType* dtype);

// The differences between neighbours, `times` times over; `before` and `after`, where given, are joined on first.
Tensor diff(const Tensor& a, int64_t times, int64_t dim, const Tensor& before, const Tensor& after);

}  // namespace gradlife::ops
