// The dimensions that a reduction removes, and its input as rows: each row becomes one element of the result.
#pragma once

#include <algorithm>

#include "engine/ops/kernels/strided_loops.hpp"

namespace gradlife::kernels {

struct Reduction {
  std::array<bool, max_dims> is_reduced{};
  Dims sizes;         // of the result
  Dims kept_strides;  // of the result, seen as the input: 0 along reduced dimensions
};

// No dimensions means all of them. Errors: no such dimension; a dimension given twice.
Reduction plan_reduction(const TensorImpl& input, const Dims& dims, bool keepdim);
// Error: no such dimension. Some operations check this before duplicates.
void require_dims(const TensorImpl& input, const Dims& dims);
int64_t reduced_count(const TensorImpl& input, const Reduction& plan);

// The elements to reduce, adjacent in memory; copied if they are not.
struct Rows {
  Tensor source;
  int64_t count = 0;
  int64_t length = 0;
  template <class T>
  const T* row(int64_t i) const {
    return source->data<T>() + i * length;
  }
};
Rows rows_of(const Tensor& input, const Reduction& plan);

// out[i] = f(row i, length), for a contiguous `out` of as many elements as there are rows.
template <class Out, class T, class F>
void reduce_rows(const Rows& rows, const TensorImpl& out, F f) {
  Out* to = out.data<Out>();
  for (int64_t i = 0; i < rows.count; ++i) to[i] = f(rows.row<T>(i), rows.length);
}

// The lines of a contiguous tensor along one dimension: line i begins at start(i), its elements are `inner` apart.
struct Lines {
  Lines(const TensorImpl& tensor, size_t dim) {
    for (size_t i = 0; i < tensor.dim(); ++i) {
      if (i == dim) length = tensor.sizes()[i];
      if (i != dim) count *= tensor.sizes()[i];
      if (i > dim) inner *= tensor.sizes()[i];
    }
  }
  int64_t start(int64_t line) const { return line / inner * inner * length + line % inner; }
  int64_t length = 1;
  int64_t count = 1;
  int64_t inner = 1;
};

// f(line of `in`, line of `out`, length, step between elements) for both of one shape and contiguous.
template <class T, class F>
void along_lines(const TensorImpl& in, const TensorImpl& out, size_t dim, F f) {
  const Lines lines(in, dim);
  if (in.numel() == 0) return;
  for (int64_t i = 0; i < lines.count; ++i)
    f(in.data<T>() + lines.start(i), out.data<T>() + lines.start(i), lines.length, lines.inner);
}

// The tensor itself, or a contiguous copy, without history.
Tensor packed(const Tensor& tensor);

}  // namespace gradlife::kernels

namespace gradlife::ops {

// Restores the reduced dimensions with size 1. If all were reduced, the gradient broadcasts as it is.
Tensor restored(const Tensor& gradient, const Dims& sizes, const Dims& dims);
inline Tensor restored_unless(bool keepdim, const Tensor& gradient, const Dims& sizes, const Dims& dims) {
  return keepdim || sizes.empty() || dims.empty() ? gradient : restored(gradient, sizes, dims);
}

}  // namespace gradlife::ops
