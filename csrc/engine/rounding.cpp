// Rounding, and the sign: constant almost everywhere, so that no gradient passes; of the fractional part it does.
#include <cmath>

#include "engine/clamping.hpp"
#include "engine/kernels.hpp"
#include "engine/overlap.hpp"
#include "engine/saving_node.hpp"

namespace gradlife::ops {
namespace {

struct Kind {
  const NodeSpec& spec;
  const char* kernel;
};

const Kind& kind_of(Rounding how) {
  static const Kind kinds[] = {
      {node_spec("FloorBackward0"), "floor_vml_cpu"}, {node_spec("CeilBackward0"), "ceil_vml_cpu"},
      {node_spec("RoundBackward0"), "round_vml_cpu"}, {node_spec("TruncBackward0"), "trunc_vml_cpu"},
      {node_spec("FracBackward0"), "frac_cpu"},       {node_spec("SignBackward0"), "sign_cpu"}};
  return kinds[static_cast<size_t>(how)];
}

template <class T>
T rounded_value(Rounding how, T x) {
  switch (how) {
    case Rounding::floor:
      return std::floor(x);
    case Rounding::ceil:
      return std::ceil(x);
    case Rounding::round:
      return std::nearbyint(x);
    case Rounding::trunc:
      return std::trunc(x);
    case Rounding::frac:
      return x - std::trunc(x);
    case Rounding::sign:
      break;
  }
  return static_cast<T>(T(0) < x) - static_cast<T>(x < T(0));
}

struct Flat {
  Rounding how;
  static constexpr bool saves_result = false, saves_self = false;
  const NodeSpec& spec() const { return kind_of(how).spec; }
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient, const Tensor&, const Tensor&) const {
    return how == Rounding::frac ? gradient : zeros_like(gradient);
  }
};

struct FlatDecimals {
  static constexpr bool saves_result = false, saves_self = false;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("RoundBackward1");
    return spec;
  }
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient, const Tensor&, const Tensor&) const { return zeros_like(gradient); }
};

[[noreturn]] void refuse(const char* kernel, DType dtype) {
  fail(ErrorKind::not_implemented, "\"", kernel, "\" not implemented for '", kernels::scalar_type_name(dtype), "'");
}

// Of sgn, which keeps more than sign does.
struct Sgn {
  static constexpr bool saves_result = true, saves_self = true;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("SgnBackward0", {saved_tensor("result"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient, const Tensor&, const Tensor&) const { return zeros_like(gradient); }
};

// Integers are whole already; only their signs change them.
void refuse_complex_numbers(Rounding how, DType dtype) {
  if (!is_complex(dtype)) return;
  if (how == Rounding::sign)
    fail(ErrorKind::not_implemented,
         "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.");
  if (how == Rounding::round || how == Rounding::frac) refuse(kind_of(how).kernel, dtype);
  const char* name = how == Rounding::floor ? "floor" : how == Rounding::ceil ? "ceil" : "trunc";
  fail(ErrorKind::not_implemented, name, " is not supported for complex inputs");
}

void refuse_others(Rounding how, DType dtype) {
  refuse_complex_numbers(how, dtype);
  const bool is_refused = (dtype == DType::boolean && how != Rounding::sign) || how == Rounding::frac;
  if (!is_floating(dtype) && is_refused) refuse(kind_of(how).kernel, dtype);
}

void round_into(const TensorImpl& out, Rounding how, const TensorImpl& in) {
  if (!is_floating(in.dtype()) && (how != Rounding::sign || in.dtype() == DType::boolean)) {
    if (&out != &in) kernels::copy(out, in);
    return;
  }
  kernels::dispatch_numbers(out.dtype(), kind_of(how).kernel, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(out, kernels::Operand<T>(in),
                    [how](T x) { return static_cast<T>(rounded_value(how, static_cast<double>(x))); });
  });
}

void require_decimals_of_floats(DType dtype) {
  if (!is_floating(dtype)) refuse("round_cpu", dtype);
}

void round_decimals_into(const TensorImpl& out, const TensorImpl& in, int64_t decimals) {
  kernels::dispatch_floats(out.dtype(), "round_cpu", [&](auto zero) {
    using T = decltype(zero);
    const T power = static_cast<T>(std::pow(10.0, static_cast<double>(std::abs(decimals))));
    kernels::map<T>(out, kernels::Operand<T>(in), [=](T x) {
      return decimals < 0 ? std::nearbyint(x / power) * power : std::nearbyint(x * power) / power;
    });
  });
}

Tensor allocate_for(const Tensor& a) { return kernels::allocate_result(a->sizes(), a->dtype(), {a.get()}); }

}  // namespace

Tensor rounded(Rounding how, const Tensor& a) {
  refuse_others(how, a->dtype());
  return record_saving(a, Flat{how}, [&] {
    Tensor result = allocate_for(a);
    round_into(*result, how, *a);
    return result;
  });
}

Tensor rounded_in_place(Rounding how, const Tensor& target) {
  refuse_others(how, target->dtype());
  return record_saving_in_place(target, Flat{how}, [&] {
    refuse_overlap(*target);
    round_into(*target, how, *target);
  });
}

Tensor sgn(const Tensor& a) {
  if (is_complex(a->dtype())) return complex_direction(a);
  return record_saving(a, Sgn(), [&] {
    Tensor result = allocate_for(a);
    round_into(*result, Rounding::sign, *a);
    return result;
  });
}

Tensor sgn_in_place(const Tensor& target) {
  return record_saving_in_place(target, Sgn(), [&] {
    refuse_overlap(*target);
    round_into(*target, Rounding::sign, *target);
  });
}

Tensor round_to(const Tensor& a, int64_t decimals) {
  require_decimals_of_floats(a->dtype());
  return record_saving(a, FlatDecimals(), [&] {
    Tensor result = allocate_for(a);
    round_decimals_into(*result, *a, decimals);
    return result;
  });
}

Tensor round_to_in_place(const Tensor& target, int64_t decimals) {
  require_decimals_of_floats(target->dtype());
  return record_saving_in_place(target, FlatDecimals(), [&] {
    refuse_overlap(*target);
    round_decimals_into(*target, *target, decimals);
  });
}

}  // namespace gradlife::ops
