// A number of the embedding language, with the kind it had there: the kind decides dtypes, and is shown again.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/dims.hpp"
#include "engine/tensor.hpp"

namespace gradlife {

struct Scalar {
  enum class Kind : uint8_t { boolean, integer, real };
  Kind kind = Kind::integer;
  int64_t integer = 0;
  double real = 0;

  Scalar() = default;
  Scalar(double value) : kind(Kind::real), real(value) {}
  Scalar(int64_t value) : kind(Kind::integer), integer(value) {}
  Scalar(int value) : Scalar(static_cast<int64_t>(value)) {}
  static Scalar boolean(bool value) {
    Scalar scalar(static_cast<int64_t>(value));
    scalar.kind = Kind::boolean;
    return scalar;
  }
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>) {
      return is_real() ? real != 0 : integer != 0;
    } else {
      return is_real() ? static_cast<T>(real) : static_cast<T>(integer);
    }
  }
  bool is_real() const { return kind == Kind::real; }
  bool is(int value) const { return is_real() ? real == value : integer == value; }
  DType natural_dtype() const {
    return kind == Kind::real ? DType::float64 : kind == Kind::integer ? DType::int64 : DType::boolean;
  }
};

}  // namespace gradlife
