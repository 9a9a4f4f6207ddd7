// Functions of complex numbers that give real ones or are made of them: magnitude, angle, direction, conjugates, pairs.
#include <cmath>

#include "engine/kernels.hpp"
#include "engine/op_node.hpp"
#include "engine/saving_node.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

// f of each number, in a tensor of `dtype`.
template <class F>
Tensor mapped(G a, bool gives_real, F f) {
  const Tensor result =
      kernels::allocate_result(a->sizes(), gives_real ? real_dtype(a->dtype()) : a->dtype(), {a.get()});
  kernels::dispatch_complex(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Out = decltype(f(zero));
    kernels::map<Out>(*result, kernels::Operand<T>(*a), f);
  });
  return result;
}

Tensor zero_of(G a) { return full({}, 0.0, a->dtype()); }

struct Magnitude {
  static constexpr bool saves_result = false, saves_self = true;
  const NodeSpec& spec() const {
    static const NodeSpec& spec = node_spec("AbsBackward0", {saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(G gradient, G self, G) const { return mul(gradient, sgn(self)); }
};

struct Direction {
  static constexpr bool saves_result = true, saves_self = true;
  const NodeSpec& spec() const {
    static const NodeSpec& spec = node_spec("SgnBackward0", {saved_tensor("result"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t) const { return {}; }
  // What turns the number counts, what makes it longer does not.
  Tensor gradient(G gradient, G self, G result) const {
    const Tensor length = abs(self);
    const Tensor along = div(mul(real(div(gradient, result)), result), length);
    const Tensor turning = sub(div(gradient, length), along);
    return where(compare_number(Comparison::eq, length, 0), zero_of(turning), turning);
  }
};

struct Angle {
  static constexpr bool saves_result = false, saves_self = true;
  const NodeSpec& spec() const {
    static const NodeSpec& spec = node_spec("AngleBackward0", {saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(G gradient, G self, G) const {
    if (!is_complex(self->dtype())) return zeros_like(self);
    const Tensor turned = mul_scalar(div(self, pow_scalar(abs(self), 2)), Scalar::complex(0, 1));
    return where(compare_number(Comparison::eq, self, 0), zero_of(turned), mul(gradient, turned));
  }
};

struct ConjugateCopy {
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("ConjPhysicalBackward0");
    return spec;
  }
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(G gradient) const { return conj_physical(gradient); }
};

// Inputs: the real and the imaginary parts.
class PairsNode final : public OpNode<0> {
 public:
  PairsNode() : OpNode<0>(spec_here()) {}

 protected:
  void differentiate(G gradient, TensorList& results) override {
    if (needs(0)) results[0] = real(gradient);
    if (needs(1)) results[1] = imag(gradient);
  }

 private:
  static const NodeSpec& spec_here() {
    static const NodeSpec& spec = node_spec("ComplexBackward0");
    return spec;
  }
};

Tensor angle_of_real(G a) {
  const GradMode off(false);
  const Tensor given = is_floating(a->dtype()) ? a : to_dtype(a, DType::float32);
  const Tensor is_negative = compare_number(Comparison::lt, given, 0);
  return where(is_negative, full({}, M_PI, given->dtype()), mul_number(given, 0));  // a nan stays one
}

}  // namespace

Tensor complex_magnitude(const Tensor& a) {
  return record_saving(a, Magnitude(), [&] { return mapped(a, true, [](auto z) { return std::abs(z); }); });
}

Tensor complex_direction(const Tensor& a) {
  return record_saving(a, Direction(), [&] {
    return mapped(a, false, [](auto z) {
      const auto length = std::abs(z);
      return length == 0 ? decltype(z)(0) : z / length;
    });
  });
}

Tensor angle(const Tensor& a) {
  return record_saving(a, Angle(), [&] {
    return is_complex(a->dtype()) ? mapped(a, true, [](auto z) { return std::arg(z); }) : angle_of_real(a);
  });
}

Tensor conj_physical(const Tensor& a) {
  if (!is_complex(a->dtype())) return a;
  return recorded(mapped(a, false, [](auto z) { return std::conj(z); }), a, ConjugateCopy());
}

Tensor complex(const Tensor& real, const Tensor& imaginary) {
  require(is_floating(real->dtype()) && is_floating(imaginary->dtype()),
          "Expected both inputs to be Half, Float or Double tensors but got ", kernels::scalar_type_name(real->dtype()),
          " and ", kernels::scalar_type_name(imaginary->dtype()));
  require(real->dtype() == imaginary->dtype(), "Expected object of scalar type ",
          kernels::scalar_type_name(real->dtype()), " but got scalar type ",
          kernels::scalar_type_name(imaginary->dtype()), " for second argument");
  const auto node = start_recording<PairsNode>({&real, &imaginary});
  Tensor result;
  {
    const GradMode off(false);
    const Dims sizes = kernels::broadcast_sizes(real->sizes(), imaginary->sizes());
    result = empty(sizes, complex_dtype(real->dtype()));
    const Tensor parts = view_as_real(result);
    kernels::copy(*select(parts, -1, 0), *real);
    kernels::copy(*select(parts, -1, 1), *imaginary);
  }
  if (node) set_history(result, node.owner);
  return result;
}

}  // namespace gradlife::ops
