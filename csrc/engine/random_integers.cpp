// Random whole numbers, and random orders.
#include <algorithm>
#include <cmath>

#include "engine/kernels.hpp"
#include "engine/rearranging.hpp"

namespace gradlife::ops {

Tensor randint(int64_t low, int64_t high, const Dims& sizes, DType dtype) {
  require(low < high, "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  require(dtype != DType::boolean || high <= 2, "to - 1 is out of bounds for bool");
  const Tensor numbers = rand(sizes, DType::float64);
  Tensor result = empty(sizes, dtype);
  const double span = static_cast<double>(high) - static_cast<double>(low);
  kernels::dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*result, kernels::Operand<double>(*numbers), [=](double number) {
      return static_cast<T>(std::min(low + static_cast<int64_t>(std::floor(number * span)), high - 1));
    });
  });
  return result;
}

// Each place in turn changes with one of those behind it (Fisher and Yates).
Tensor randperm(int64_t count, DType dtype) {
  const Tensor numbers = rand({count}, DType::float64);
  Tensor result = arange(0, count, 1, dtype);
  kernels::dispatch(dtype, [&](auto zero) {
    auto* order = result->data<decltype(zero)>();
    for (int64_t i = 0; i + 1 < count; ++i) {
      const double left = static_cast<double>(count - i);
      const int64_t other = i + static_cast<int64_t>(numbers->data<double>()[i] * left);
      std::swap(order[i], order[std::min(other, count - 1)]);
    }
  });
  return result;
}

}  // namespace gradlife::ops
