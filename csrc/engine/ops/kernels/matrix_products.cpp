#include "engine/ops/kernels/matrix_products.hpp"

#include <algorithm>

#include "engine/ops/kernels/strided_loops.hpp"

namespace gradlife::kernels {
namespace {

template <class T>
struct Matrix {
  const T* data;
  int64_t row_step;
  int64_t column_step;
};

// Rows of b that fit into the cache together with the result rows that they are added to.
constexpr int64_t inner_block = 64;
constexpr int64_t column_block = 512;

// out[0..count) of each of `rows` rows += a's column slice times b's rows. Four rows share each read of b.
template <class T, int rows>
void multiply_rows(const Matrix<T>& a, const Matrix<T>& b, T* out, int64_t out_step, int64_t inner, int64_t count) {
  for (int64_t k = 0; k < inner; ++k) {
    const T* b_row = b.data + k * b.row_step;
    T factors[rows];
    for (int row = 0; row < rows; ++row) factors[row] = a.data[row * a.row_step + k * a.column_step];
    for (int64_t j = 0; j < count; ++j)
      for (int row = 0; row < rows; ++row) out[row * out_step + j] += factors[row] * b_row[j];
  }
}

// `b` has column stride 1. `out` is contiguous and zero at first.
template <class T>
void multiply(const Matrix<T>& a, const Matrix<T>& b, T* out, int64_t rows, int64_t inner, int64_t columns) {
  for (int64_t j = 0; j < columns; j += column_block) {
    const int64_t count = std::min(column_block, columns - j);
    for (int64_t k = 0; k < inner; k += inner_block) {
      const int64_t depth = std::min(inner_block, inner - k);
      const Matrix<T> b_block{b.data + k * b.row_step + j, b.row_step, 1};
      int64_t i = 0;
      for (; i + 4 <= rows; i += 4) {
        const Matrix<T> a_block{a.data + i * a.row_step + k * a.column_step, a.row_step, a.column_step};
        multiply_rows<T, 4>(a_block, b_block, out + i * columns + j, columns, depth, count);
      }
      for (; i < rows; ++i) {
        const Matrix<T> a_block{a.data + i * a.row_step + k * a.column_step, a.row_step, a.column_step};
        multiply_rows<T, 1>(a_block, b_block, out + i * columns + j, columns, depth, count);
      }
    }
  }
}

template <class T>
T inner_row(int64_t length, const T* a, int64_t a_step, const T* b, int64_t b_step) {
  constexpr int64_t lanes = 8;
  T sums[lanes] = {};
  int64_t i = 0;
  if (a_step == 1 && b_step == 1) {
    for (; i + lanes <= length; i += lanes)
      for (int64_t lane = 0; lane < lanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < length; ++i) sums[0] += a[i * a_step] * b[i * b_step];
  T total = 0;
  for (T sum : sums) total += sum;
  return total;
}

bool has_unit_columns(const TensorImpl& matrix) {
  return matrix.strides()[matrix.dim() - 1] == 1 || matrix.sizes()[matrix.dim() - 1] == 1;
}

// Returns a copy with column stride 1; empty if the matrix has that already.
Tensor packed(const TensorImpl& matrix) {
  if (has_unit_columns(matrix)) return {};
  Tensor copied = empty(matrix.sizes(), matrix.dtype());
  copy(*copied, matrix);
  return copied;
}

template <class T>
Matrix<T> matrix_at(const TensorImpl& tensor, int64_t batch) {
  const size_t last = tensor.dim() - 1;
  const int64_t start = tensor.dim() == 3 ? batch * tensor.strides()[0] : 0;
  return {tensor.data<T>() + start, tensor.strides()[last - 1], tensor.strides()[last]};
}

Tensor product(const TensorImpl& a, const TensorImpl& b, const Dims& sizes, int64_t batches) {
  const Tensor copied = packed(b);
  const TensorImpl& right = copied ? *copied : b;
  Tensor out = empty(sizes, a.dtype());
  fill(*out, 0);
  const int64_t rows = sizes[sizes.size() - 2];
  const int64_t columns = sizes[sizes.size() - 1];
  const int64_t inner = a.sizes()[a.dim() - 1];
  dispatch_numbers(a.dtype(), "addmm_impl_cpu_", [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < batches; ++i)
      multiply<T>(matrix_at<T>(a, i), matrix_at<T>(right, i), out->data<T>() + i * rows * columns, rows, inner,
                  columns);
  });
  return out;
}

}  // namespace

Tensor matrix_product(const TensorImpl& a, const TensorImpl& b) {
  return product(a, b, {a.sizes()[0], b.sizes()[1]}, 1);
}

Tensor batched_product(const TensorImpl& a, const TensorImpl& b) {
  return product(a, b, {a.sizes()[0], a.sizes()[1], b.sizes()[2]}, a.sizes()[0]);
}

Tensor matrix_vector_product(const TensorImpl& matrix, const TensorImpl& vector) {
  Tensor out = empty({matrix.sizes()[0]}, matrix.dtype());
  dispatch_numbers(matrix.dtype(), "addmv_impl_cpu", [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < matrix.sizes()[0]; ++i)
      out->data<T>()[i] = inner_row(matrix.sizes()[1], matrix.data<T>() + i * matrix.strides()[0], matrix.strides()[1],
                                    vector.data<T>(), vector.strides()[0]);
  });
  return out;
}

Tensor inner_product(const TensorImpl& a, const TensorImpl& b) {
  Tensor out = empty({}, a.dtype());
  dispatch_numbers(a.dtype(), "dot", [&](auto zero) {
    using T = decltype(zero);
    *out->data<T>() = inner_row(a.numel(), a.data<T>(), a.strides()[0], b.data<T>(), b.strides()[0]);
  });
  return out;
}

}  // namespace gradlife::kernels
