// A number of the embedding language, with its kind there: the kind decides dtypes, and is shown again.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "engine/tensor/dims.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

template <class T>
constexpr bool is_complex_type = false;
template <class T>
constexpr bool is_complex_type<std::complex<T>> = true;

struct Scalar {
  enum class Kind : uint8_t { boolean, integer, real, complex };
  Kind kind = Kind::integer;
  bool is_unsigned = false;  // an integer of 2^63 or more; `integer` has its bits
  int64_t integer = 0;
  double real = 0;
  double imaginary = 0;

  Scalar() = default;
  Scalar(double value) : kind(Kind::real), real(value) {}
  Scalar(int64_t value) : kind(Kind::integer), integer(value) {}
  Scalar(int value) : Scalar(static_cast<int64_t>(value)) {}
  static Scalar boolean(bool value) {
    Scalar scalar(static_cast<int64_t>(value));
    scalar.kind = Kind::boolean;
    return scalar;
  }
  static Scalar unsigned_integer(uint64_t value) {
    Scalar scalar(static_cast<int64_t>(value));
    scalar.is_unsigned = true;
    return scalar;
  }
  static Scalar complex(double real, double imaginary) {
    Scalar scalar(real);
    scalar.kind = Kind::complex;
    scalar.imaginary = imaginary;
    return scalar;
  }
  template <class T>
  T to() const {
    if constexpr (is_complex_type<T>) {
      using Part = typename T::value_type;
      return T(to_real<Part>(), static_cast<Part>(imaginary));
    } else if constexpr (std::is_same_v<T, bool>) {
      return has_real() ? real != 0 || imaginary != 0 : integer != 0;
    } else {
      if (kind == Kind::complex && (imaginary != 0 || std::is_integral_v<T>))
        fail(ErrorKind::runtime, "value cannot be converted to type ",
             std::is_same_v<T, float>    ? "float"
             : std::is_same_v<T, double> ? "double"
             : sizeof(T) == 4            ? "int"
                                         : "int64_t",
             " without overflow");
      return to_real<T>();
    }
  }
  template <class T>
  T to_real() const {
    if (has_real()) return static_cast<T>(real);
    if (!is_unsigned) return static_cast<T>(integer);
    if (std::is_integral_v<T>) fail(ErrorKind::runtime, "value cannot be converted to type int64_t without overflow");
    return static_cast<T>(static_cast<uint64_t>(integer));
  }
  bool is_real() const { return kind == Kind::real; }
  bool has_real() const { return is_real() || kind == Kind::complex; }
  bool is(int value) const { return has_real() ? real == value && imaginary == 0 : integer == value; }
  DType natural_dtype() const {
    if (kind == Kind::complex) return DType::complex128;
    return kind == Kind::real ? DType::float64 : kind == Kind::integer ? DType::int64 : DType::boolean;
  }
};

}  // namespace gradlife
