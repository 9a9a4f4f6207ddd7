// Operations that put the elements of a tensor in other places: repeated, turned, cut to a triangle, sorted.
#pragma once

#include "engine/changing.hpp"
#include "engine/ops.hpp"

namespace gradlife::ops {

// turning.cpp. Dimensions may be negative; each counts once.
Tensor flip(const Tensor& a, const Dims& dims);
Tensor roll(const Tensor& a, const Dims& shifts, const Dims& dims);  // no dims: all elements in one row

// repeating.cpp
Tensor repeat(const Tensor& a, const Dims& repeats);
Tensor tile(const Tensor& a, const Dims& repeats);
Tensor repeat_interleave(const Tensor& a, int64_t repeats, const int64_t* dim);  // no dim: all elements in one row
Tensor repeat_interleave(const Tensor& a, const Tensor& repeats, const int64_t* dim);
Tensor repeated_positions(const Tensor& repeats);  // 0 so many times as the first says, then 1, ...

// diagonals.cpp. Of matrices; with more dimensions, of the last two.
Tensor tril(const Tensor& a, int64_t diagonal, Form form);
Tensor triu(const Tensor& a, int64_t diagonal, Form form);
Tensor diagonal(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2);  // a view
Tensor diag(const Tensor& a, int64_t offset);  // of a matrix its diagonal, of a vector the matrix that has it
Tensor diag_embed(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2);
Tensor trace(const Tensor& a);

// unfolding.cpp: a view of windows of `size` along a dimension, `step` apart.
Tensor unfold(const Tensor& a, int64_t dim, int64_t size, int64_t step);

// sorting.cpp. Values with their positions; nan counts as the largest. Those of equal value keep their order.
struct Sorted {
  Tensor values;
  Tensor indices;
};
Sorted sort(const Tensor& a, int64_t dim, bool descending, const bool* stable = nullptr);
Tensor argsort(const Tensor& a, int64_t dim, bool descending);
Sorted topk(const Tensor& a, int64_t count, int64_t dim, bool largest);
Sorted kthvalue(const Tensor& a, int64_t k, int64_t dim, bool keepdim);

// reshaping_views.cpp: views made of other views.
Tensor movedim(const Tensor& a, const Dims& from, const Dims& to);
Tensor unflatten(const Tensor& a, int64_t dim, const Dims& sizes);
TensorList tensor_split(const Tensor& a, int64_t sections, int64_t dim);
TensorList tensor_split_at(const Tensor& a, const Dims& places, int64_t dim);

// random.cpp: whole numbers.
Tensor randint(int64_t low, int64_t high, const Dims& sizes, DType dtype);
Tensor randperm(int64_t count, DType dtype);

// Parts on the same memory that are no views: each may be changed in place, and its change is none of the others'.
TensorList unsafe_split(const Tensor& a, int64_t size, int64_t dim);
TensorList unsafe_split_sizes(const Tensor& a, const Dims& sizes, int64_t dim);
TensorList unsafe_chunk(const Tensor& a, int64_t chunks, int64_t dim);

}  // namespace gradlife::ops
