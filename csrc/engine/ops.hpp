// Operations. Each computes, and records its node when grad mode is on and an input needs it. All differentiable any
// number of times, since the nodes compute their gradients with these same operations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/autograd.hpp"
#include "engine/node.hpp"
#include "engine/scalar.hpp"
#include "engine/tensor.hpp"

namespace gradlife::ops {

// Factories. Errors: a negative size.
Tensor full(const Dims& sizes, const Scalar& value, DType dtype);
Tensor full_like(const Tensor& tensor, const Scalar& value, DType dtype);
Tensor empty_like(const Tensor& tensor, DType dtype);
Tensor zeros_like(const Tensor& tensor);
Tensor ones_like(const Tensor& tensor);
Tensor eye(int64_t rows, int64_t columns, DType dtype);
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype);
Tensor linspace(double start, double end, int64_t steps, DType dtype);
void require_sizes(const Dims& sizes);
// A Python number that takes part in one operation, as a tensor without dimensions. It does not widen the other's
// dtype.
Tensor wrapped_number(const Scalar& value);

// Random numbers, from one generator of the process (callers hold the interpreter lock).
void seed_generator(uint64_t seed);
uint64_t generator_seed();
using GeneratorState = std::array<int64_t, 7>;  // the seed, four words, whether a normal number is spare, its bits
GeneratorState generator_state();
void set_generator_state(const GeneratorState& state);
Tensor rand(const Dims& sizes, DType dtype);
Tensor randn(const Dims& sizes, DType dtype);

// Copies and conversions. `contiguous` gives the tensor itself where it is contiguous, `to_dtype` where it has that
// dtype.
Tensor clone(const Tensor& tensor);
Tensor clone_contiguous(const Tensor& tensor);
Tensor contiguous(const Tensor& tensor);
Tensor to_dtype(const Tensor& tensor, DType dtype, bool copy = false);
Scalar item(const Tensor& tensor);
Scalar element(const TensorImpl& tensor, int64_t storage_index);

// Element-wise with broadcasting and promotion. The forms with a Scalar record the node that PyTorch's own formulas
// leave behind (`MulBackward1`); a number in a Python expression goes through add_number, or is wrapped first
// (`MulBackward0`).
Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
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

// Comparisons give bool tensors and are not differentiable.
enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge };
Tensor compare(Comparison comparison, const Tensor& a, const Tensor& b);
Tensor compare_number(Comparison comparison, const Tensor& a, const Scalar& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& a);
Tensor all(const Tensor& a);
Tensor any(const Tensor& a);
bool equal(const Tensor& a, const Tensor& b);
bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan);

// Reductions. No dimensions means all of them. `dtype`, where given, is that of the sums; sums of integers are int64.
Tensor sum(const Tensor& a, const DType* dtype = nullptr);
Tensor sum(const Tensor& a, const Dims& dims, bool keepdim, const DType* dtype = nullptr);
Tensor mean(const Tensor& a, const DType* dtype = nullptr);
Tensor mean(const Tensor& a, const Dims& dims, bool keepdim, const DType* dtype = nullptr);
Tensor sum_to_size(const Tensor& a, const Dims& sizes);  // undoes broadcasting

// Products.
Tensor mm(const Tensor& a, const Tensor& b);
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
Tensor unsafe_view(const Tensor& a, const Dims& sizes);  // of a contiguous result that nobody else has seen: no view
Tensor flatten(const Tensor& a, int64_t first, int64_t last);
Tensor expand(const Tensor& a, const Dims& sizes);
Tensor transpose(const Tensor& a, int64_t dim0, int64_t dim1);
Tensor permute(const Tensor& a, const Dims& dims);
Tensor reversed(const Tensor& a);  // .T
Tensor t(const Tensor& a);
Tensor unsqueeze(const Tensor& a, int64_t dim);
Tensor squeeze(const Tensor& a);
Tensor squeeze(const Tensor& a, int64_t dim);
Tensor squeeze(const Tensor& a, const Dims& dims);
Tensor select(const Tensor& a, int64_t dim, int64_t index);
Tensor slice(const Tensor& a, int64_t dim, int64_t start, int64_t end, int64_t step);
Tensor narrow(const Tensor& a, int64_t dim, int64_t start, int64_t length);
Tensor as_strided(const Tensor& a, const Dims& sizes, const Dims& strides, std::optional<int64_t> offset);
NodePtr as_strided_node(const Tensor& a, const TensorImpl& window);  // of a window that is there already
// Of complex numbers: their parts, along one more dimension, and the other way; one part; the conjugate, as a view of
// what is there or as a copy. Real numbers are their own real parts and conjugates.
Tensor view_as_real(const Tensor& a);
Tensor view_as_complex(const Tensor& a);
Tensor real(const Tensor& a);
Tensor imag(const Tensor& a);
Tensor conj(const Tensor& a);
Tensor conj_physical(const Tensor& a);
Tensor resolve_conj(const Tensor& a);
Tensor angle(const Tensor& a);
Tensor complex_magnitude(const Tensor& a);  // abs and sgn of complex numbers
Tensor complex_direction(const Tensor& a);
Tensor complex(const Tensor& real, const Tensor& imaginary);
inline Scalar conj(Scalar number) {
  number.imaginary = -number.imaginary;
  return number;
}
TensorList unbind(const Tensor& a, int64_t dim);
TensorList split(const Tensor& a, int64_t size, int64_t dim);
TensorList split_sizes(const Tensor& a, const Dims& sizes, int64_t dim);
TensorList chunk(const Tensor& a, int64_t chunks, int64_t dim);
int64_t wrap_dim(int64_t dim, size_t dims);  // IndexError: no such dimension

// In place. Each returns its target. Errors: the target may not be changed now, has another shape than the result,
// overlaps itself or its source, or can't hold the result's dtype.
Tensor copy_in_place(const Tensor& target, const Tensor& source);
Tensor add_in_place(const Tensor& target, const Tensor& other, const Scalar& alpha = 1);
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
Tensor log_in_place(const Tensor& target);
Tensor sin_in_place(const Tensor& target);
Tensor cos_in_place(const Tensor& target);
Tensor tanh_in_place(const Tensor& target);
Tensor relu_in_place(const Tensor& target);
Tensor sqrt_in_place(const Tensor& target);
Tensor sigmoid_in_place(const Tensor& target);
Tensor abs_in_place(const Tensor& target);
Tensor reciprocal_in_place(const Tensor& target);
void uniform_in_place(const Tensor& target, double low, double high);
void normal_in_place(const Tensor& target, double mean, double deviation);

// Without history, for the engine itself: target += source (same shape), and a plain contiguous copy.
void accumulate_raw(const Tensor& target, const Tensor& source);
Tensor copy_raw(const Tensor& source);

}  // namespace gradlife::ops
