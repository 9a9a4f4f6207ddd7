// Computing with two operands: the second is a tensor or a number.
#pragma once

#include "engine/ops/kernels/overlap.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/tensor/dispatch_watch.hpp"

namespace gradlife::kernels {

inline Argument as_argument(const TensorOrNumber& operand) {
  return operand.is_tensor() ? Argument(operand.tensor()) : Argument(operand.number());
}

inline DType dtype_of(const Tensor& a, const TensorOrNumber& b) {
  return b.is_tensor() ? result_dtype({a.get(), b.tensor().get()}) : result_dtype(*a, b.number());
}

inline Tensor allocate_for(const Tensor& a, const TensorOrNumber& b, DType dtype) {
  if (!b.is_tensor()) return allocate_result(a->sizes(), dtype, {a.get()}, true);
  return allocate_result(broadcast_sizes(a->sizes(), b.tensor()->sizes()), dtype, {a.get(), b.tensor().get()});
}

// f(a, b) in the common dtype.
template <class F>
Tensor compute(const Tensor& a, const TensorOrNumber& b, F f) {
  const DType dtype = dtype_of(a, b);
  Tensor out = allocate_for(a, b, dtype);
  dispatch_for<F>(dtype, [&](auto zero) {
    using T = decltype(zero);
    map<T>(*out, Operand<T>(*a), Operand<T>(b), f);
  });
  return out;
}

// out = f(a, b) for an f that is defined only for floats.
template <class F>
Tensor compute_floats_into(Tensor out, const Tensor& a, const TensorOrNumber& b, F f, const char* name) {
  const auto body = [&](auto zero) {
    using T = decltype(zero);
    map<T>(*out, Operand<T>(*a), Operand<T>(b), f);
  };
  if constexpr (takes_complex<F>) {
    if (is_complex(out->dtype())) {
      dispatch_complex(out->dtype(), body);
      return out;
    }
  }
  dispatch_floats(out->dtype(), name, body);
  return out;
}

// The same in a new tensor of `dtype`.
template <class F>
Tensor compute_floats(const Tensor& a, const TensorOrNumber& b, DType dtype, F f, const char* name = "floats") {
  return compute_floats_into(allocate_for(a, b, dtype), a, b, f, name);
}

// target = f(target, other), computed in the common dtype and stored in the target's.
template <class F>
void change(const Tensor& target, const Tensor& other, F f) {
  const DType dtype = dtype_of(target, other);
  const bool direct = dtype == target->dtype() && !target->is_conjugate();
  const Tensor out = direct ? target : empty(target->sizes(), dtype);
  dispatch_for<F>(dtype, [&](auto zero) {
    using T = decltype(zero);
    map<T>(*out, Operand<T>(*target), Operand<T>(*other), f);
  });
  if (!direct) copy(*target, *out);
}

// Errors, in PyTorch's order: the target overlaps itself or the source, has another shape than the result, or can't
// hold the common dtype.
inline void check_target(const TensorImpl& target, const TensorImpl& other) {
  ops::refuse_overlap(target);
  ops::refuse_partial_overlap(target, other);
  ops::refuse_resize(target, broadcast_sizes(target.sizes(), other.sizes()));
  ops::refuse_cast(result_dtype({&target, &other}), target);
}

}  // namespace gradlife::kernels
