// Activations without parameters whose gradients are formulas of other operations: silu and mish.
#include <cmath>

#include "engine/unary.hpp"

namespace gradlife::ops {
namespace {

GRADLIFE_FUNCTION(Silu, "silu_cpu", x / (T(1) + std::exp(-x)))
GRADLIFE_FUNCTION(Mish, "mish_cpu", x* std::tanh(std::log1p(std::exp(x))))

using G = const Tensor&;

Tensor one_minus(G a) { return sub(wrapped_number(1), a); }

Tensor silu_gradient(G gradient, G self) {
  const Tensor share = sigmoid(self);
  return mul(mul(gradient, share), add_scalar(mul(self, one_minus(share)), 1));
}

Tensor mish_gradient(G gradient, G self) {
  const Tensor gate = tanh(apply(log1p_rule, exp(self)));
  return mul(gradient, add(gate, mul(mul(self, sigmoid(self)), one_minus(mul(gate, gate)))));
}

}  // namespace

// Integers are refused, as by PyTorch.
const UnaryRule silu_rule{unary_spec("SiluBackward0", Saves::self), Saves::self, float_kernel<Silu>, silu_gradient,
                          true};
const UnaryRule mish_rule{unary_spec("MishBackward0", Saves::self), Saves::self, float_kernel<Mish>, mish_gradient,
                          true};

}  // namespace gradlife::ops
