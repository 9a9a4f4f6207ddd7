// Factories of tensors.
#include <cmath>

#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"
#include "engine/tensor/dispatch_watch.hpp"

namespace gradlife::ops {
namespace {

template <class T, class F>
void generate(const TensorImpl& out, F f) {
  T* to = out.data<T>();
  for (int64_t i = 0; i < out.numel(); ++i) to[i] = static_cast<T>(f(i));
}

int64_t range_length(const Scalar& start, const Scalar& end, const Scalar& step) {
  const bool integers = !start.is_real() && !end.is_real() && !step.is_real();
  const double stride = step.to<double>();
  require(stride != 0, "step must be nonzero");
  const double distance = end.to<double>() - start.to<double>();
  require(std::isfinite(distance) && std::isfinite(stride), "unsupported range: ", start.to<double>(), " -> ",
          end.to<double>());
  require(stride > 0 ? distance >= 0 : distance <= 0, "upper bound and lower bound inconsistent with step sign");
  if (!integers) return static_cast<int64_t>(std::ceil(distance / stride));
  const int64_t span = end.integer - start.integer;
  return (span + step.integer - (step.integer > 0 ? 1 : -1)) / step.integer;
}

}  // namespace

void require_sizes(const Dims& sizes) {
  for (int64_t size : sizes) require(size >= 0, "Trying to create tensor with negative dimension ", size, ": ", sizes);
  double count = 1;
  for (int64_t size : sizes) count *= static_cast<double>(size);
  if (count > 1e15) fail(ErrorKind::memory, "not enough memory for a tensor of size ", sizes);
}

void require_count(const Dims& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    require(size >= 0 && !__builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count),
            "numel: integer multiplication overflow");
}

int64_t window_end(const Dims& sizes, const Dims& strides, int64_t offset) {
  if (sizes.product() == 0) return offset;
  int64_t end = 0;
  bool overflows = __builtin_add_overflow(offset, 1, &end);
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach = 0;
    overflows = overflows || __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
                __builtin_add_overflow(end, reach, &end);
  }
  require(!overflows && end <= (INT64_MAX >> 4), "Storage size calculation overflowed with sizes=", sizes,
          " and strides=", strides);
  return end;
}

Tensor full(const Dims& sizes, const Scalar& value, DType dtype) {
  require_sizes(sizes);
  Tensor result = empty(sizes, dtype);
  kernels::fill(*result, value);
  return result;
}

Tensor empty_like(const Tensor& tensor, DType dtype) { return kernels::allocate_like(*tensor, dtype); }

Tensor full_like(const Tensor& tensor, const Scalar& value, DType dtype) {
  Tensor result = empty_like(tensor, dtype);
  kernels::fill(*result, value);
  return result;
}

Tensor zeros_like(const Tensor& tensor) {
  return lowered("zeros_like.default", [&] { return full_like(tensor, 0, tensor->dtype()); }, tensor);
}

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  const int64_t length = range_length(start, end, step);
  require_sizes({length});
  Tensor result = empty({length}, dtype);
  kernels::dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      generate<T>(*result, [&](int64_t i) { return start.to<int64_t>() + i * step.to<int64_t>(); });
    } else {
      generate<T>(*result, [&](int64_t i) { return start.to<double>() + static_cast<double>(i) * step.to<double>(); });
    }
  });
  return result;
}

Tensor wrapped_number(const Scalar& value) {
  const Scalar fitting = value.is_unsigned ? Scalar(value.to<double>()) : value;  // no dtype holds the integer
  Tensor number = empty({}, fitting.natural_dtype());
  kernels::fill(*number, fitting);
  number->set_wrapped_number();
  return number;
}

}  // namespace gradlife::ops
