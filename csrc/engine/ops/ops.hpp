// Operations. Each computes, and records its node if grad mode is on and an input needs it. All are differentiable any
// number of times, because the nodes compute their gradients with these operations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/graph/autograd.hpp"
#include "engine/graph/needed_ops.hpp"
#include "engine/graph/node.hpp"
#include "engine/tensor/scalar.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife::ops {

// Factories. Errors: a negative size.
Tensor full(const Dims& sizes, const Scalar& value, DType dtype);
Tensor full_like(const Tensor& tensor, const Scalar& value, DType dtype);
Tensor empty_like(const Tensor& tensor, DType dtype);
Tensor zeros_like(const Tensor& tensor);
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype);
void require_sizes(const Dims& sizes);
void require_count(const Dims& sizes);  // that the number of elements can be counted
// One past the last element that a window reaches in its storage. Errors: its bytes cannot be counted.
int64_t window_end(const Dims& sizes, const Dims& strides, int64_t offset);
// A Python number in one operation, as a tensor without dimensions. It does not widen the other operand's dtype.
Tensor wrapped_number(const Scalar& value);

// Random numbers, from one generator per process (callers hold the interpreter lock).
void seed_generator(uint64_t seed);
uint64_t generator_seed();
using GeneratorState = std::array<int64_t, 7>;  // the seed, four words, whether a normal number is spare, its bits
GeneratorState generator_state();
void set_generator_state(const GeneratorState& state);
Tensor rand(const Dims& sizes, DType dtype);
Tensor randint(int64_t low, int64_t high, const Dims& sizes, DType dtype);  // in [low, high)
Tensor randn(const Dims& sizes, DType dtype);

// Copies and conversions. `contiguous` returns a contiguous tensor itself, `to_dtype` one that has the dtype.
Tensor clone_contiguous(const Tensor& tensor);
Tensor contiguous(const Tensor& tensor);
Scalar item(const Tensor& tensor);
Scalar element(const TensorImpl& tensor, int64_t storage_index);

// Element-wise with broadcasting and promotion. The forms with a Scalar record the node of PyTorch's own formulas
// (`MulBackward1`); a number in a Python expression goes through add_number, or is wrapped first (`MulBackward0`).
Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor add_number(const Tensor& a, const Scalar& term, const Scalar& alpha = 1);
Tensor sub_number(const Tensor& a, const Scalar& term, const Scalar& alpha = 1);
Tensor mul_number(const Tensor& a, const Scalar& factor);
Tensor div_number(const Tensor& a, const Scalar& divisor);
Tensor rsub_number(const Scalar& minuend, const Tensor& a, const Scalar& alpha = 1);
Tensor mul_scalar(const Tensor& a, const Scalar& factor);
Tensor div_scalar(const Tensor& a, const Scalar& divisor);
Tensor add_scalar(const Tensor& a, const Scalar& term);
Tensor sub_scalar(const Tensor& a, const Scalar& term);
Tensor pow(const Tensor& a, const Tensor& exponent);
Tensor pow_scalar(const Tensor& a, const Scalar& exponent);
Tensor scalar_pow(const Scalar& base, const Tensor& exponent);

Tensor neg(const Tensor& a);
Tensor exp(const Tensor& a);
Tensor log(const Tensor& a);
Tensor sin(const Tensor& a);
Tensor cos(const Tensor& a);
Tensor tanh(const Tensor& a);
Tensor relu(const Tensor& a);
Tensor sqrt(const Tensor& a);
Tensor sigmoid(const Tensor& a);
Tensor abs(const Tensor& a);
Tensor sgn(const Tensor& a);
Tensor reciprocal(const Tensor& a);

// Comparisons return bool tensors and are not differentiable.
Tensor compare_number(Comparison comparison, const Tensor& a, const Scalar& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor all(const Tensor& a);
bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan);

// Reductions. No dimensions means all of them. `dtype`, if given, is that of the sums; sums of integers are int64.
Tensor sum(const Tensor& a, const DType* dtype = nullptr);
Tensor sum(const Tensor& a, const Dims& dims, bool keepdim, const DType* dtype = nullptr);
Tensor mean(const Tensor& a, const DType* dtype = nullptr);
Tensor mean(const Tensor& a, const Dims& dims, bool keepdim, const DType* dtype = nullptr);

// Products.
Tensor mm(const Tensor& a, const Tensor& b);
// A factor's layout, which its gradient gets, and the gradients of both factors.
struct MatrixLayout {
  explicit MatrixLayout(const TensorImpl& matrix) : sizes(matrix.sizes()), strides(matrix.strides()) {}
  bool is_column_major() const { return strides[0] == 1 && strides[1] == sizes[0]; }
  Dims sizes, strides;
};
Tensor product_gradient_first(const Tensor& gradient, const Tensor& second, const MatrixLayout& first);
Tensor product_gradient_second(const Tensor& gradient, const Tensor& first, const MatrixLayout& second);
Tensor mv(const Tensor& a, const Tensor& b);
Tensor dot(const Tensor& a, const Tensor& b);
Tensor bmm(const Tensor& a, const Tensor& b);
Tensor matmul(const Tensor& a, const Tensor& b);

// Joining.
Tensor cat(const TensorList& tensors, int64_t dim);
Tensor stack(const TensorList& tensors, int64_t dim);

// Views. Dimensions may be negative; one size of view and reshape may be -1, sizes of expand may be -1.
Tensor view(const Tensor& a, const Dims& sizes);
Tensor view_as_itself(const Tensor& a);  // AliasBackward0
Tensor reshape(const Tensor& a, const Dims& sizes);
Tensor unsafe_view(const Tensor& a, const Dims& sizes);  // of a fresh contiguous result, which is not a view
Tensor expand(const Tensor& a, const Dims& sizes);
Tensor transpose(const Tensor& a, int64_t dim0, int64_t dim1);
Tensor permute(const Tensor& a, const Dims& dims);
Tensor t(const Tensor& a);
Tensor unsqueeze(const Tensor& a, int64_t dim);
Tensor squeeze(const Tensor& a);
Tensor squeeze(const Tensor& a, int64_t dim);
Tensor squeeze(const Tensor& a, const Dims& dims);
Tensor select(const Tensor& a, int64_t dim, int64_t index);
Tensor slice(const Tensor& a, int64_t dim, int64_t start, int64_t end, int64_t step);
Tensor narrow(const Tensor& a, int64_t dim, int64_t start, int64_t length);
// Complex tensors as real ones with one more dimension, and back; one part; the conjugate as a view or as a copy. Real
// numbers are their own real parts and conjugates.
Tensor real(const Tensor& a);
Tensor imag(const Tensor& a);
Tensor resolve_conj(const Tensor& a);
Tensor angle(const Tensor& a);
Tensor complex_magnitude(const Tensor& a);  // abs of complex numbers
Tensor complex(const Tensor& real, const Tensor& imaginary);
inline Scalar conj(Scalar number) {
  number.imaginary = -number.imaginary;
  return number;
}
TensorList unbind(const Tensor& a, int64_t dim);
TensorList split(const Tensor& a, int64_t size, int64_t dim);
TensorList split_sizes(const Tensor& a, const Dims& sizes, int64_t dim);
TensorList chunk(const Tensor& a, int64_t chunks, int64_t dim);

// In place. Each returns its target. Errors: the target may not be changed now, has another shape than the result,
// overlaps itself or its source, or cannot hold the result's dtype.
Tensor sub_in_place(const Tensor& target, const Tensor& other, const Scalar& alpha = 1);
Tensor mul_in_place(const Tensor& target, const Tensor& other);
Tensor div_in_place(const Tensor& target, const Tensor& other);
Tensor pow_in_place(const Tensor& target, const Tensor& exponent);
Tensor pow_scalar_in_place(const Tensor& target, const Scalar& exponent);
Tensor zero_in_place(const Tensor& target);
Tensor fill_in_place(const Tensor& target, const Scalar& value);
Tensor fill_in_place(const Tensor& target, const Tensor& value);
Tensor neg_in_place(const Tensor& target);
Tensor exp_in_place(const Tensor& target);
Tensor sin_in_place(const Tensor& target);
Tensor tanh_in_place(const Tensor& target);
Tensor relu_in_place(const Tensor& target);
Tensor sigmoid_in_place(const Tensor& target);
void uniform_in_place(const Tensor& target, double low, double high);

Tensor repeat(const Tensor& a, const Dims& repeats);
// Makes the target a window on other memory, which grows if the window reaches beyond it. `strides`: nullptr for those
// without gaps. `source`: the tensor with that memory, if any.
Tensor set_in_place(const Tensor& target, const StoragePtr& storage, int64_t offset, const Dims& sizes,
                    const Dims* strides, const Tensor& source);

}  // namespace gradlife::ops
