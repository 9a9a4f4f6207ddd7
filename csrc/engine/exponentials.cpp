// Logarithms and powers of fixed bases, reciprocal roots, and the error function.
#include <cmath>

#include "engine/unary.hpp"

namespace gradlife::ops {
namespace {

constexpr double ln_2 = 0.6931471805599453;
constexpr double ln_10 = 2.3025850929940456;
constexpr double two_over_root_pi = 1.1283791670955126;

GRADLIFE_FUNCTION(Log2, "log2_cpu", std::log2(x))
GRADLIFE_COMPLEX_FUNCTION(Log10, "log10_cpu", std::log10(x))
GRADLIFE_FUNCTION(Log1p, "log1p_cpu", std::log1p(x))
GRADLIFE_FUNCTION(Expm1, "expm1_cpu", std::expm1(x))
GRADLIFE_FUNCTION(Exp2, "exp2_cpu", std::exp2(x))
GRADLIFE_COMPLEX_FUNCTION(Rsqrt, "rsqrt_cpu", T(1) / std::sqrt(x))
GRADLIFE_FUNCTION(Erf, "erf_cpu", std::erf(x))
GRADLIFE_FUNCTION(Erfc, "erfc_cpu", std::erfc(x))

using G = const Tensor&;

Tensor bell(G self, double height) { return mul_scalar(exp(neg(pow_scalar(self, 2))), height); }

}  // namespace

const UnaryRule log2_rule = float_rule<Log2>("Log2Backward0", Saves::self,
                                             [](G gradient, G self) { return div(gradient, mul_scalar(self, ln_2)); });
const UnaryRule log10_rule = float_rule<Log10>(
    "Log10Backward0", Saves::self, [](G gradient, G self) { return div(gradient, conj(mul_scalar(self, ln_10))); });
const UnaryRule log1p_rule = float_rule<Log1p>("Log1PBackward0", Saves::self,
                                               [](G gradient, G self) { return div(gradient, add_scalar(self, 1)); });
const UnaryRule expm1_rule = float_rule<Expm1>(
    "Expm1Backward0", Saves::result, [](G gradient, G result) { return mul(gradient, add_scalar(result, 1)); });
const UnaryRule exp2_rule = float_rule<Exp2>(
    "Exp2Backward0", Saves::result, [](G gradient, G result) { return mul_scalar(mul(gradient, result), ln_2); });
const UnaryRule rsqrt_rule = float_rule<Rsqrt>("RsqrtBackward0", Saves::result, [](G gradient, G result) {
  return mul(mul_scalar(gradient, -0.5), conj(pow_scalar(result, 3)));
});
const UnaryRule erf_rule = float_rule<Erf>(
    "ErfBackward0", Saves::self, [](G gradient, G self) { return mul(bell(self, two_over_root_pi), gradient); });
const UnaryRule erfc_rule = float_rule<Erfc>(
    "ErfcBackward0", Saves::self, [](G gradient, G self) { return mul(bell(self, -two_over_root_pi), gradient); });

}  // namespace gradlife::ops
