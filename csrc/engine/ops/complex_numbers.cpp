// The magnitude of complex numbers, and the direction of all numbers: what the gradient of abs needs.
#include <cmath>

#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"
#include "engine/ops/saving_node.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

// f of each number, in a tensor of `dtype`.
template <class F>
Tensor mapped(G a, bool gives_real, F f) {
  const Tensor result =
      kernels::allocate_result(a->sizes(), gives_real ? real_dtype(a->dtype()) : a->dtype(), {a.get()});
  kernels::dispatch_complex(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Out = decltype(f(zero));
    kernels::map<Out>(*result, kernels::Operand<T>(*a), f);
  });
  return result;
}

Tensor zero_of(G a) { return full({}, 0.0, a->dtype()); }

struct Magnitude {
  static constexpr bool saves_result = false, saves_self = true;
  inline static const NodeSpec& spec = node_spec("AbsBackward0", {saved_tensor("self")});
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(G gradient, G self, G) const { return mul(gradient, sgn(self)); }
};

struct Direction {
  static constexpr bool saves_result = true, saves_self = true;
  inline static const NodeSpec& spec = node_spec("SgnBackward0", {saved_tensor("result"), saved_tensor("self")});
  SavedValue value(size_t) const { return {}; }
  // Only the part of the gradient that rotates the number counts, not the part that scales it.
  Tensor gradient(G gradient, G self, G result) const {
    if (!is_complex(self->dtype())) return zeros_like(gradient);
    const Tensor length = abs(self);
    const Tensor along = div(mul(real(div(gradient, result)), result), length);
    const Tensor tangential = sub(div(gradient, length), along);
    return where(compare_number(Comparison::eq, length, 0), zero_of(tangential), tangential);
  }
};

}  // namespace

Tensor complex_magnitude(const Tensor& a) {
  return record_saving(a, Magnitude(), [&] { return mapped(a, true, [](auto z) { return std::abs(z); }); });
}

Tensor sgn(const Tensor& a) {
  return record_saving(a, Direction(), [&] {
    if (is_complex(a->dtype()))
      return mapped(a, false, [](auto z) {
        const auto length = std::abs(z);
        return length == 0 ? decltype(z)(0) : z / length;
      });
    const Tensor result = kernels::allocate_result(a->sizes(), a->dtype(), {a.get()});
    kernels::dispatch_numbers(a->dtype(), "sign_cpu", [&](auto zero) {
      using T = decltype(zero);
      kernels::map<T>(*result, kernels::Operand<T>(*a),
                      [](T x) { return static_cast<T>(static_cast<T>(T(0) < x) - static_cast<T>(x < T(0))); });
    });
    return result;
  });
}

}  // namespace gradlife::ops
