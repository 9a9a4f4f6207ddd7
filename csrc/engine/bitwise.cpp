// Operations on bits, and on truth values.
#include "engine/binary.hpp"
#include "engine/integers.hpp"

namespace gradlife::ops {
namespace {

template <class F>
void dispatch_bits(DType dtype, const char* operation, F&& body) {
  if (dtype == DType::int64) return body(int64_t{});
  if (dtype == DType::int32) return body(int32_t{});
  if (dtype == DType::boolean) return body(bool{});
  fail(ErrorKind::not_implemented, "\"", operation, "\" not implemented for '", kernels::scalar_type_name(dtype), "'");
}

template <class F>
void dispatch_integers(DType dtype, const char* operation, F&& body) {
  if (dtype == DType::int64) return body(int64_t{});
  if (dtype == DType::int32) return body(int32_t{});
  fail(ErrorKind::not_implemented, "\"", operation, "\" not implemented for '", kernels::scalar_type_name(dtype), "'");
}

// A shift by more bits than there are, or by less than none, leaves nothing but the sign of a right shift.
template <class T>
bool has_bit(T position) {
  return position >= 0 && position < static_cast<T>(sizeof(T) * 8);
}

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Left {
  template <class T>
  T operator()(T a, T b) const {
    return has_bit(b) ? static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << b) : T(0);
  }
};
struct Right {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a >> (has_bit(b) ? b : static_cast<T>(sizeof(T) * 8 - 1)));
  }
};

template <class F>
void bits_into(const TensorImpl& out, const TensorImpl& a, const TensorImpl& b, const char* name, F f) {
  dispatch_bits(out.dtype(), name, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(out, kernels::Operand<T>(a), kernels::Operand<T>(b), f);
  });
}

template <class F>
void integers_into(const TensorImpl& out, const TensorImpl& a, const TensorImpl& b, const char* name, F f) {
  dispatch_integers(out.dtype(), name, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(out, kernels::Operand<T>(a), kernels::Operand<T>(b), f);
  });
}

void compute(Bitwise operation, const TensorImpl& out, const TensorImpl& a, const TensorImpl& b) {
  switch (operation) {
    case Bitwise::conjunction:
      return bits_into(out, a, b, "bitwise_and_cpu", And());
    case Bitwise::disjunction:
      return bits_into(out, a, b, "bitwise_or_cpu", Or());
    case Bitwise::exclusion:
      return bits_into(out, a, b, "bitwise_xor_cpu", Xor());
    case Bitwise::left_shift:
      return integers_into(out, a, b, "lshift_cpu", Left());
    case Bitwise::right_shift:
      return integers_into(out, a, b, "rshift_cpu", Right());
  }
}

template <class T>
bool holds(Logical operation, T a, T b) {
  switch (operation) {
    case Logical::conjunction:
      return a != T(0) && b != T(0);
    case Logical::disjunction:
      return a != T(0) || b != T(0);
    case Logical::exclusion:
      break;
  }
  return (a != T(0)) != (b != T(0));
}

}  // namespace

Tensor bitwise(Bitwise operation, const Tensor& a, const Tensor& b, bool in_place) {
  const DType dtype = kernels::dtype_of(a, b);
  if (in_place) kernels::check_target(*a, *b);
  Tensor out = in_place && dtype == a->dtype() ? a : kernels::allocate_for(a, b, dtype);
  compute(operation, *out, *a, *b);
  if (!in_place) return out;
  if (out != a) kernels::copy(*a, *out);
  a->bump_version();
  return a;
}

Tensor bitwise_not(const Tensor& a, bool in_place) {
  if (in_place) refuse_overlap(*a);
  Tensor out = in_place ? a : kernels::allocate_result(a->sizes(), a->dtype(), {a.get()});
  dispatch_bits(a->dtype(), "bitwise_not_cpu", [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*out, kernels::Operand<T>(*a), [](T x) {
      if constexpr (std::is_same_v<T, bool>) return !x;
      return static_cast<T>(~static_cast<int64_t>(x));
    });
  });
  if (in_place) a->bump_version();
  return out;
}

Tensor logical(Logical operation, const Tensor& a, const Tensor& b, bool in_place) {
  Tensor out = kernels::allocate_for(a, b, DType::boolean);
  if (in_place) {
    refuse_overlap(*a);
    refuse_resize(*a, out->sizes());
  }
  kernels::dispatch(kernels::dtype_of(a, b), [&](auto zero) {
    using T = decltype(zero);
    kernels::map<bool>(*out, kernels::Operand<T>(*a), kernels::Operand<T>(*b),
                       [operation](T x, T y) { return holds(operation, x, y); });
  });
  if (!in_place) return out;
  kernels::copy(*a, *out);
  a->bump_version();
  return a;
}

Tensor logical_not_in_place(const Tensor& target) {
  refuse_overlap(*target);
  kernels::copy(*target, *logical_not(target));
  target->bump_version();
  return target;
}

}  // namespace gradlife::ops
