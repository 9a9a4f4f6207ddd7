// What elements are: not a number, infinite, close to others.
#include <cmath>

#include "engine/binary.hpp"
#include "engine/clamping.hpp"

namespace gradlife::ops {
namespace {

bool is_of(Class which, double x) {
  switch (which) {
    case Class::nan:
      return std::isnan(x);
    case Class::infinite:
      return std::isinf(x);
    case Class::finite:
      return std::isfinite(x);
    case Class::positive_infinite:
      return std::isinf(x) && x > 0;
    case Class::negative_infinite:
      break;
  }
  return std::isinf(x) && x < 0;
}

}  // namespace

Tensor is_of_class(Class which, const Tensor& a) {
  Tensor result = kernels::allocate_result(a->sizes(), DType::boolean, {a.get()});
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::map<bool>(*result, kernels::Operand<T>(*a), [which](T x) { return is_of(which, static_cast<double>(x)); });
  });
  return result;
}

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  require(a->dtype() == b->dtype(), kernels::scalar_type_name(a->dtype()), " did not match ",
          kernels::scalar_type_name(b->dtype()));
  require(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  require(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  Tensor result = kernels::allocate_for(a, b, DType::boolean);
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::map<bool>(*result, kernels::Operand<T>(*a), kernels::Operand<T>(*b), [=](T x, T y) {
      const double left = static_cast<double>(x);
      const double right = static_cast<double>(y);
      if (left == right || (equal_nan && std::isnan(left) && std::isnan(right))) return true;
      return std::isfinite(left - right) && std::fabs(left - right) <= atol + rtol * std::fabs(right);
    });
  });
  result->bump_version();  // put together in place by PyTorch, which its version shows
  return result;
}

}  // namespace gradlife::ops
