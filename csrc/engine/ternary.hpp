// Computing with three operands.
#pragma once

#include "engine/kernels.hpp"

namespace gradlife::kernels {

inline Dims broadcast_sizes(const Dims& a, const Dims& b, const Dims& c) {
  return broadcast_sizes(broadcast_sizes(a, b), c);
}

// out = f(a, b, c)
template <class Out, class T, class F>
void map(const TensorImpl& out, const Operand<T>& a, const Operand<T>& b, const Operand<T>& c, F f) {
  const Dims a_strides = a.strides_in(out.sizes());
  const Dims b_strides = b.strides_in(out.sizes());
  const Dims c_strides = c.strides_in(out.sizes());
  const Loops loops = plan(out.sizes(), {&out.strides(), &a_strides, &b_strides, &c_strides});
  int64_t steps[4];
  for (size_t i = 0; i < 4; ++i) steps[i] = row_stride(loops, i);
  Out* to = out.data<Out>();
  run<4>(loops, [&](int64_t length, const int64_t* at) {
    for (int64_t i = 0; i < length; ++i)
      to[at[0] + i * steps[0]] =
          f(a.data()[at[1] + i * steps[1]], b.data()[at[2] + i * steps[2]], c.data()[at[3] + i * steps[3]]);
  });
}

enum class Place : uint8_t { elsewhere, first };  // of a result: a new tensor, or the first operand

// f(a, b, c) of `dtype`: in a new tensor, or in `a` where that holds this dtype.
template <class F>
Tensor compute(const Tensor& a, const Tensor& b, const Tensor& c, DType dtype, const char* name, F f,
               Place place = Place::elsewhere) {
  const bool in_first = place == Place::first && a->dtype() == dtype;
  const Dims sizes = broadcast_sizes(a->sizes(), b->sizes(), c->sizes());
  Tensor out = in_first ? a : allocate_result(sizes, dtype, {a.get(), b.get(), c.get()});
  dispatch_numbers(dtype, name, [&](auto zero) {
    using T = decltype(zero);
    map<T>(*out, Operand<T>(*a), Operand<T>(*b), Operand<T>(*c), f);
  });
  return out;
}

}  // namespace gradlife::kernels
