// Element-wise functions of one tensor: each is a rule, which is applied to a new tensor or in place.
#pragma once

#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {

enum class Saves : uint8_t { nothing, self, result };

struct UnaryRule {
  const NodeSpec& spec;
  Saves saves;
  void (*kernel)(const TensorImpl& out, const Tensor& in);
  Tensor (*gradient)(const Tensor& gradient, const Tensor& saved);
  bool keeps_integers = false;  // neg, abs, relu; others convert integers to floats
};

Tensor apply(const UnaryRule& rule, const Tensor& input);
Tensor apply_in_place(const UnaryRule& rule, const Tensor& target);

template <class F>
bool complex_kernel(const TensorImpl& out, const Tensor& in) {
  if constexpr (kernels::takes_complex<F>) {
    if (!is_complex(out.dtype())) return false;
    kernels::dispatch_complex(out.dtype(), [&](auto zero) {
      using T = decltype(zero);
      kernels::map<T>(out, kernels::Operand<T>(*in), F());
    });
    return true;
  } else {
    return false;
  }
}

template <class F>
void float_kernel(const TensorImpl& out, const Tensor& in) {
  if (complex_kernel<F>(out, in)) return;
  kernels::dispatch_floats(out.dtype(), F::name, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(out, kernels::Operand<T>(*in), F());
  });
}

template <class F>
void number_kernel(const TensorImpl& out, const Tensor& in) {
  if (complex_kernel<F>(out, in)) return;
  kernels::dispatch_numbers(out.dtype(), F::name, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(out, kernels::Operand<T>(*in), F());
  });
}

#define GRADLIFE_FUNCTION(Name, text, expression) \
  struct Name {                                   \
    static constexpr const char* name = text;     \
    template <class T>                            \
    T operator()(T x) const {                     \
      return expression;                          \
    }                                             \
  };

// An operation that complex numbers have, too.
#define GRADLIFE_COMPLEX_FUNCTION(Name, text, expression) \
  struct Name {                                           \
    static constexpr const char* name = text;             \
    using TakesComplex = void;                            \
    template <class T>                                    \
    T operator()(T x) const {                             \
      return expression;                                  \
    }                                                     \
  };

// The spec of a node that saves what `saves` says.
inline const NodeSpec& unary_spec(const char* name, Saves saves) {
  if (saves == Saves::nothing) return node_spec(name);
  return node_spec(name, {saved_tensor(saves == Saves::self ? "self" : "result")});
}

// A function whose result is floating point.
template <class F>
UnaryRule float_rule(const char* name, Saves saves, Tensor (*gradient)(const Tensor&, const Tensor&)) {
  return {unary_spec(name, saves), saves, float_kernel<F>, gradient};
}

extern const UnaryRule rsqrt_rule;

}  // namespace gradlife::ops
