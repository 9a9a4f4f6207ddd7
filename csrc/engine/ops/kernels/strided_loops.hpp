// Loops over the elements of strided tensors: the plan of a loop, rows of it that vectorise, and dispatch on dtypes.
//
// Dimensions are merged if all operands allow it, so that contiguous tensors are one long row, whatever their shape.
#pragma once

#include <array>
#include <complex>
#include <initializer_list>

#include "engine/tensor/scalar.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife::kernels {

constexpr size_t max_operands = 4;

// Innermost dimension first.
struct Loops {
  size_t dims = 0;
  size_t operands = 0;
  int64_t sizes[max_dims];
  int64_t strides[max_operands][max_dims];
};

// Plans one pass over `sizes`; the first operand's strides decide the order of the dimensions.
Loops plan(const Dims& sizes, std::initializer_list<const Dims*> strides);

// Calls row(length, offsets): offsets[i] is where operand i's row starts, in elements.
template <size_t count, class Row>
void run(const Loops& loops, Row&& row) {
  int64_t offsets[count] = {};
  int64_t position[max_dims] = {};
  for (size_t dim = 0; dim < loops.dims; ++dim)
    if (loops.sizes[dim] == 0) return;
  const int64_t length = loops.dims == 0 ? 1 : loops.sizes[0];
  while (true) {
    row(length, offsets);
    size_t dim = 1;
    for (; dim < loops.dims; ++dim) {
      for (size_t i = 0; i < count; ++i) offsets[i] += loops.strides[i][dim];
      if (++position[dim] < loops.sizes[dim]) break;
      position[dim] = 0;
      for (size_t i = 0; i < count; ++i) offsets[i] -= loops.strides[i][dim] * loops.sizes[dim];
    }
    if (dim >= loops.dims) return;
  }
}

inline int64_t row_stride(const Loops& loops, size_t operand) {
  return loops.dims == 0 ? 0 : loops.strides[operand][0];
}

// Returns the strides of a tensor of `sizes` in a broadcast shape: 0 along every repeated dimension.
Dims broadcast_strides(const Dims& sizes, const Dims& strides, const Dims& shape);
// Error: "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0".
Dims broadcast_sizes(const Dims& a, const Dims& b);

// Copies with conversion and broadcasting, also between overlapping windows with equal strides.
void copy(const TensorImpl& target, const TensorImpl& source);
void fill(const TensorImpl& target, const Scalar& value);

// Creates a tensor for a result: contiguous, or in the memory order of its inputs like PyTorch's TensorIterator, to
// which a number among the operands (`takes_number`) is a tensor of another shape.
Tensor allocate_result(const Dims& sizes, DType dtype, std::initializer_list<const TensorImpl*> inputs,
                       bool takes_number = false);
// Creates a tensor with these strides, which must leave no gaps.
Tensor allocate(const Dims& sizes, const Dims& strides, DType dtype);
// Creates a tensor with the memory layout of another one, without its gaps.
Tensor allocate_like(const TensorImpl& tensor, DType dtype);
Dims propagated_strides(const Dims& sizes, std::initializer_list<const TensorImpl*> inputs, bool takes_number = false);

// Returns strides without gaps, in the memory order of operands with these strides; the first that orders two
// dimensions decides.
Dims strides_in_order(const Dims& sizes, const Dims* strides, size_t count);

DType promote(DType a, DType b);
// Returns the dtype of an operation: tensors with dimensions precede those without, and those precede numbers.
DType result_dtype(std::initializer_list<const TensorImpl*> inputs);
DType result_dtype(const TensorImpl& tensor, const Scalar& number);
const char* scalar_type_name(DType dtype);  // "Float"

// The dtype of tensors whose elements are of type T.
template <class T>
constexpr DType dtype_for = std::is_same_v<T, float>     ? DType::float32
                            : std::is_same_v<T, double>  ? DType::float64
                            : std::is_same_v<T, int64_t> ? DType::int64
                            : std::is_same_v<T, int32_t> ? DType::int32
                            : is_complex_type<T>         ? (sizeof(T) == 8 ? DType::complex64 : DType::complex128)
                                                         : DType::boolean;

[[noreturn]] inline void refuse_complex() {
  fail(ErrorKind::not_implemented, "gradlife's engine does not compute this with complex numbers");
}

template <class F>
void dispatch(DType dtype, F&& body) {
  switch (dtype) {
    case DType::float32:
      return body(float{});
    case DType::float64:
      return body(double{});
    case DType::int64:
      return body(int64_t{});
    case DType::int32:
      return body(int32_t{});
    case DType::boolean:
      return body(bool{});
    case DType::complex64:
    case DType::complex128:
      refuse_complex();
  }
}

template <class F>
void dispatch_complex(DType dtype, F&& body) {
  dtype == DType::complex64 ? body(std::complex<float>{}) : body(std::complex<double>{});
}

// True for types that declare `TakesComplex`.
template <class F, class = void>
constexpr bool takes_complex = false;
template <class F>
constexpr bool takes_complex<F, std::void_t<typename F::TakesComplex>> = true;

template <class F, class Body>
void dispatch_for(DType dtype, Body&& body) {
  if constexpr (takes_complex<F>)
    if (is_complex(dtype)) return dispatch_complex(dtype, body);
  dispatch(dtype, body);
}

template <class F>
void dispatch_numbers(DType dtype, const char* operation, F&& body) {
  if (dtype == DType::float32) return body(float{});
  if (dtype == DType::float64) return body(double{});
  if (dtype == DType::int64) return body(int64_t{});
  if (dtype == DType::int32) return body(int32_t{});
  fail(ErrorKind::not_implemented, "\"", operation, "\" not implemented for '", scalar_type_name(dtype), "'");
}

template <class F>
void dispatch_floats(DType dtype, const char* operation, F&& body) {
  if (dtype == DType::float32) return body(float{});
  if (dtype == DType::float64) return body(double{});
  fail(ErrorKind::not_implemented, "\"", operation, "\" not implemented for '", scalar_type_name(dtype), "'");
}

// Materializes a conjugated view; returns any other tensor unchanged.
Tensor resolved(const Tensor& tensor);

// A tensor or a number. One type for both, so that a kernel is compiled once; it must not outlive what it was made
// from.
class TensorOrNumber {
 public:
  TensorOrNumber(const Tensor& tensor) : tensor_(&tensor) {}
  TensorOrNumber(const Scalar& number) : number_(&number) {}
  bool is_tensor() const { return tensor_ != nullptr; }
  const Tensor& tensor() const { return *tensor_; }
  const Scalar& number() const { return *number_; }

 private:
  const Tensor* tensor_ = nullptr;
  const Scalar* number_ = nullptr;
};

// Where the elements of an operand lie, whatever their type. A number has no dimensions.
class OperandLayout {
 public:
  bool is_single() const { return sizes_->empty(); }
  bool is_row_like(const TensorImpl& out) const { return is_single() || (is_contiguous_ && *sizes_ == out.sizes()); }
  int64_t row_stride() const { return is_single() ? 0 : 1; }
  Dims strides_in(const Dims& shape) const { return broadcast_strides(*sizes_, *strides_, shape); }

 protected:
  OperandLayout() : sizes_(&none_), strides_(&none_) {}
  explicit OperandLayout(const TensorImpl& tensor) { take_from(tensor); }
  void take_from(const TensorImpl& tensor) {
    sizes_ = &tensor.sizes();
    strides_ = &tensor.strides();
    is_contiguous_ = tensor.is_contiguous();
  }

 private:
  const Dims* sizes_;
  const Dims* strides_;
  Dims none_;
  bool is_contiguous_ = false;
};

// An operand of element type T, converted if needed; a single element is taken by value, so that broadcasting it costs
// nothing.
template <class T>
class Operand : public OperandLayout {
 public:
  explicit Operand(const TensorImpl& tensor);
  explicit Operand(const Scalar& number) : value_(number.to<T>()), data_(&value_) {}
  explicit Operand(const TensorOrNumber& operand);
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  const T* data() const { return data_; }

 private:
  void take(const TensorImpl& tensor);

  T value_{};
  const T* data_ = nullptr;
  Tensor converted_;
};

extern template class Operand<float>;
extern template class Operand<double>;
extern template class Operand<int64_t>;
extern template class Operand<int32_t>;
extern template class Operand<bool>;
extern template class Operand<std::complex<float>>;
extern template class Operand<std::complex<double>>;

// Plans one pass over `out` and its operands: one row where all are contiguous.
Loops plan_map(const TensorImpl& out, const OperandLayout& a);
Loops plan_map(const TensorImpl& out, const OperandLayout& a, const OperandLayout& b);

// Whether writing a row at `out` leaves *value unchanged. If not, each element is read when it is used, as in PyTorch's
// loops.
template <class Out, class Value>
bool keeps(const Out* out, int64_t length, const Value* value) {
  const auto at = reinterpret_cast<uintptr_t>(value);
  return at < reinterpret_cast<uintptr_t>(out) || at >= reinterpret_cast<uintptr_t>(out + length);
}

template <class Out, class A, class F>
void map_row(int64_t length, Out* out, int64_t out_step, const A* a, int64_t a_step, F f) {
  if (out_step == 1 && a_step == 1) {
    for (int64_t i = 0; i < length; ++i) out[i] = f(a[i]);
  } else {
    for (int64_t i = 0; i < length; ++i) out[i * out_step] = f(a[i * a_step]);
  }
}

template <class Out, class A, class B, class F>
void map_row(int64_t length, Out* out, int64_t out_step, const A* a, int64_t a_step, const B* b, int64_t b_step, F f) {
  if (out_step == 1 && a_step == 1 && b_step == 1) {
    for (int64_t i = 0; i < length; ++i) out[i] = f(a[i], b[i]);
  } else if (out_step == 1 && a_step == 1 && b_step == 0 && keeps(out, length, b)) {
    const B value = *b;
    for (int64_t i = 0; i < length; ++i) out[i] = f(a[i], value);
  } else {
    for (int64_t i = 0; i < length; ++i) out[i * out_step] = f(a[i * a_step], b[i * b_step]);
  }
}

// out = f(a). `out` already has its result's dtype and shape.
template <class Out, class A, class F>
void map(const TensorImpl& out, const Operand<A>& a, F f) {
  const Loops loops = plan_map(out, a);
  Out* to = out.data<Out>();
  run<2>(loops, [&](int64_t length, const int64_t* at) {
    map_row(length, to + at[0], row_stride(loops, 0), a.data() + at[1], row_stride(loops, 1), f);
  });
}

// out = f(a, b)
template <class Out, class A, class B, class F>
void map(const TensorImpl& out, const Operand<A>& a, const Operand<B>& b, F f) {
  const Loops loops = plan_map(out, a, b);
  Out* to = out.data<Out>();
  run<3>(loops, [&](int64_t length, const int64_t* at) {
    map_row(length, to + at[0], row_stride(loops, 0), a.data() + at[1], row_stride(loops, 1), b.data() + at[2],
            row_stride(loops, 2), f);
  });
}

}  // namespace gradlife::kernels
