// Trigonometric and hyperbolic functions and their inverses.
#include <cmath>

#include "engine/unary.hpp"

namespace gradlife::ops {
namespace {

constexpr double pi = 3.141592653589793;

GRADLIFE_COMPLEX_FUNCTION(Tan, "tan_cpu", std::tan(x))
GRADLIFE_COMPLEX_FUNCTION(Sinh, "sinh_cpu", std::sinh(x))
GRADLIFE_COMPLEX_FUNCTION(Cosh, "cosh_cpu", std::cosh(x))
GRADLIFE_COMPLEX_FUNCTION(Asin, "asin_cpu", std::asin(x))
GRADLIFE_COMPLEX_FUNCTION(Acos, "acos_cpu", std::acos(x))
GRADLIFE_COMPLEX_FUNCTION(Atan, "atan_cpu", std::atan(x))
GRADLIFE_COMPLEX_FUNCTION(Asinh, "asinh_cpu", std::asinh(x))
GRADLIFE_COMPLEX_FUNCTION(Acosh, "acosh_cpu", std::acosh(x))
GRADLIFE_COMPLEX_FUNCTION(Atanh, "atanh_cpu", std::atanh(x))
GRADLIFE_FUNCTION(Deg2rad, "deg2rad_cpu", T(x*(pi / 180)))
GRADLIFE_FUNCTION(Rad2deg, "rad2deg_cpu", T(x * (180 / pi)))

using G = const Tensor&;

Tensor sinh_of(G a) { return apply(sinh_rule, a); }
Tensor cosh_of(G a) { return apply(cosh_rule, a); }
Tensor rsqrt_of(G a) { return apply(rsqrt_rule, a); }
Tensor one_plus(G a) { return add_scalar(a, 1); }
Tensor one_minus(G a) { return sub(wrapped_number(1), a); }
Tensor asin_slope(G self) { return rsqrt_of(one_plus(mul(neg(self), self))); }

}  // namespace

const UnaryRule tan_rule = float_rule<Tan>("TanBackward0", Saves::result, [](G gradient, G result) {
  return mul(gradient, conj(one_plus(pow_scalar(result, 2))));
});
const UnaryRule sinh_rule = float_rule<Sinh>("SinhBackward0", Saves::self,
                                             [](G gradient, G self) { return mul(gradient, conj(cosh_of(self))); });
const UnaryRule cosh_rule = float_rule<Cosh>("CoshBackward0", Saves::self,
                                             [](G gradient, G self) { return mul(gradient, conj(sinh_of(self))); });
const UnaryRule asin_rule = float_rule<Asin>("AsinBackward0", Saves::self,
                                             [](G gradient, G self) { return mul(gradient, conj(asin_slope(self))); });
const UnaryRule acos_rule = float_rule<Acos>(
    "AcosBackward0", Saves::self, [](G gradient, G self) { return mul(gradient, conj(neg(asin_slope(self)))); });
const UnaryRule atan_rule = float_rule<Atan>(
    "AtanBackward0", Saves::self, [](G gradient, G self) { return div(gradient, conj(one_plus(mul(self, self)))); });
const UnaryRule asinh_rule = float_rule<Asinh>("AsinhBackward0", Saves::self, [](G gradient, G self) {
  return mul(gradient, conj(rsqrt_of(one_plus(pow_scalar(self, 2)))));
});
const UnaryRule acosh_rule = float_rule<Acosh>("AcoshBackward0", Saves::self, [](G gradient, G self) {
  if (is_complex(self->dtype()))  // roots of products are not products of roots
    return mul(gradient, conj(mul(rsqrt_of(one_plus(self)), rsqrt_of(sub_scalar(self, 1)))));
  return mul(gradient, rsqrt_of(sub_scalar(mul(self, self), 1)));
});
// As in PyTorch, which can't differentiate these forms.
const UnaryRule asinh_in_place_rule = float_rule<Asinh>("AsinhBackward1", Saves::nothing, [](G, G) -> Tensor {
  fail(ErrorKind::not_implemented, "the derivative for 'inplace version of asinh' is not implemented.");
});
const UnaryRule acosh_in_place_rule = float_rule<Acosh>("AcoshBackward1", Saves::nothing, [](G, G) -> Tensor {
  fail(ErrorKind::not_implemented, "the derivative for 'inplace version of acosh' is not implemented.");
});
const UnaryRule atanh_in_place_rule = float_rule<Atanh>("AtanhBackward1", Saves::nothing, [](G, G) -> Tensor {
  fail(ErrorKind::not_implemented, "the derivative for 'inplace version of atanh' is not implemented.");
});
const UnaryRule atanh_rule = float_rule<Atanh>("AtanhBackward0", Saves::self, [](G gradient, G self) {
  return div(mul_scalar(gradient, 1), conj(one_minus(pow_scalar(self, 2))));
});
const UnaryRule deg2rad_rule = float_rule<Deg2rad>("Deg2RadBackward0", Saves::nothing,
                                                   [](G gradient, G) { return mul_scalar(gradient, pi / 180); });
const UnaryRule rad2deg_rule = float_rule<Rad2deg>("Rad2DegBackward0", Saves::nothing,
                                                   [](G gradient, G) { return mul_scalar(gradient, 180 / pi); });

}  // namespace gradlife::ops
