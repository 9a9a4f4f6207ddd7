// Powers: of tensors to numbers, of tensors to tensors, of numbers to tensors.
#include <cmath>

#include "engine/backward/op_node.hpp"
#include "engine/ops/binary.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

struct Power {
  using TakesComplex = void;
  template <class T>
  T operator()(T base, T exponent) const {
    if constexpr (std::is_floating_point_v<T> || is_complex_type<T>) {
      return std::pow(base, exponent);
    } else {
      return static_cast<T>(integer_power(base, exponent));
    }
  }
  // Wraps around like a product; unsigned, where that is defined.
  static int64_t integer_power(int64_t base, int64_t exponent) {
    uint64_t factor = static_cast<uint64_t>(base);
    uint64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
      if ((exponent & 1) != 0) result *= factor;
      factor *= factor;
    }
    return static_cast<int64_t>(result);
  }
};

template <class Body>
void numbers_or_complex(DType dtype, Body&& body) {
  is_complex(dtype) ? kernels::dispatch_complex(dtype, body) : kernels::dispatch_numbers(dtype, "pow", body);
}

// Small exponents have their own loop.
void raise(const TensorImpl& out, const TensorImpl& base, const Scalar& exponent) {
  numbers_or_complex(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const kernels::Operand<T> a(base);
    if (exponent.is(1)) return kernels::map<T>(out, a, [](T x) { return x; });
    if (exponent.is(2)) return kernels::map<T>(out, a, [](T x) { return static_cast<T>(x * x); });
    if (exponent.is(3)) return kernels::map<T>(out, a, [](T x) { return static_cast<T>(x * x * x); });
    const T power = exponent.to<T>();
    kernels::map<T>(out, a, [power](T x) { return Power()(x, power); });
  });
}

const NodeSpec& scalar_exponent_spec = node_spec("PowBackward0", {saved_number("exponent"), saved_tensor("self")});
const NodeSpec& tensors_spec =
    node_spec("PowBackward1", {saved_tensor("exponent"), saved_tensor("self"), saved_tensor("result")});
const NodeSpec& scalar_base_spec =
    node_spec("PowBackward2", {saved_tensor("exponent"), saved_tensor("result"), saved_number("self")});

class ScalarExponentNode final : public OpNode<1> {
 public:
  explicit ScalarExponentNode(const Scalar& exponent) : OpNode<1>(scalar_exponent_spec), exponent_(exponent) {}
  SavedValue saved_value(size_t) const override { return saved(exponent_); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor self = unpack(0);
    if (exponent_.is(0)) {
      results[0] = zeros_like(self);
      return;
    }
    const Scalar power = exponent_.kind == Scalar::Kind::complex ? exponent_ : Scalar(exponent_.to<double>());
    Scalar less = power;
    less.real -= 1;
    results[0] = mul(gradient, conj(mul_scalar(pow_scalar(self, less), power)));
  }

 private:
  Scalar exponent_;
};

Tensor zero_of(const Tensor& tensor) { return full({}, 0.0, tensor->dtype()); }

// If 0 is raised to a power, the derivative by the exponent is defined as 0.
Tensor by_exponent(const Tensor& gradient, const Tensor& is_flat, const Tensor& slope) {
  return mul(gradient, where(is_flat, zero_of(slope), slope));
}

// Whether the exponent is not negative; a complex one must have no imaginary part.
Tensor is_not_negative(const Tensor& exponent) {
  if (!is_complex(exponent->dtype())) return compare_number(Comparison::ge, exponent, 0);
  return logical_and(compare_number(Comparison::eq, imag(exponent), 0),
                     compare_number(Comparison::ge, real(exponent), 0));
}

class TensorsNode final : public OpNode<3> {
 public:
  TensorsNode() : OpNode<3>(tensors_spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const auto [exponent, self] = unpack_two();
    const Tensor result = unpack(2);
    if (needs(0)) {
      const Tensor slope = mul(gradient, conj(mul(exponent, pow(self, sub_scalar(exponent, 1)))));
      results[0] = where(compare_number(Comparison::eq, exponent, 0), zero_of(gradient), slope);
    }
    if (needs(1)) {
      const Tensor is_flat = logical_and(compare_number(Comparison::eq, self, 0), is_not_negative(exponent));
      const Tensor base = is_complex(exponent->dtype()) && !is_complex(self->dtype())
                              ? to_dtype(self, complex_dtype(self->dtype()))
                              : self;
      results[1] = by_exponent(gradient, is_flat, conj(mul(defined(result), log(base))));
    }
  }
};

class ScalarBaseNode final : public OpNode<2> {
 public:
  explicit ScalarBaseNode(const Scalar& base) : OpNode<2>(scalar_base_spec), base_(base) {}
  SavedValue saved_value(size_t) const override { return saved(base_); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor exponent = unpack(0);
    const Tensor result = unpack(1);
    const Tensor slope = conj(mul_scalar(result, log_of_base(is_complex(exponent->dtype()))));
    results[0] = base_.is(0) ? by_exponent(gradient, is_not_negative(exponent), slope) : mul(gradient, slope);
  }

 private:
  Scalar log_of_base(bool is_complex_power) const {
    if (!is_complex_power && base_.kind != Scalar::Kind::complex) return std::log(base_.to<double>());
    const std::complex<double> logarithm = std::log(base_.to<std::complex<double>>());
    return Scalar::complex(logarithm.real(), logarithm.imag());
  }

  Scalar base_;
};

// Contiguous whatever the exponent's layout, as in PyTorch.
Tensor power_of(const Scalar& base, const Tensor& exponent) {
  const DType dtype = kernels::result_dtype(*exponent, base);
  Tensor result = empty(exponent->sizes(), dtype);
  numbers_or_complex(dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*result, kernels::Operand<T>(base), kernels::Operand<T>(*exponent), Power());
  });
  return result;
}

void refuse_negative_power(DType dtype, const Scalar& exponent) {
  require(is_differentiable(dtype) || exponent.integer >= 0, "Integers to negative integer powers are not allowed.");
}

}  // namespace

Tensor pow_scalar(const Tensor& a, const Scalar& exponent) {
  const DType dtype = kernels::result_dtype(*a, exponent);
  refuse_negative_power(dtype, exponent);
  const auto node = start_recording<ScalarExponentNode>({&a}, exponent);
  if (node) node->save_input(0, a);
  const auto compute = [&] {
    Tensor result = kernels::allocate_result(a->sizes(), dtype, {a.get()});
    raise(*result, *a, exponent);
    return result;
  };
  Tensor result = lowered("pow.Tensor_Scalar", compute, a, exponent);
  if (node) set_history(result, node.owner);
  return result;
}

Tensor pow(const Tensor& a, const Tensor& exponent) {
  const auto node = start_recording<TensorsNode>({&a, &exponent});
  save_two(node, exponent, -1, a, -1);
  Tensor result = lowered("pow.Tensor_Tensor", [&] { return kernels::compute(a, exponent, Power()); }, a, exponent);
  if (!node) return result;
  set_history(result, node.owner);
  node->save_output(2, result);
  return result;
}

Tensor scalar_pow(const Scalar& base, const Tensor& exponent) {
  const auto node = start_recording<ScalarBaseNode>({&exponent}, base);
  if (node) node->save_input(0, exponent);
  const Tensor result = lowered("pow.Scalar", [&] { return power_of(base, exponent); }, base, exponent);
  if (!node) return result;
  set_history(result, node.owner);
  node->save_output(1, result);
  return result;
}

Tensor pow_scalar_in_place(const Tensor& target, const Scalar& exponent) {
  check_inplace(target, needs_graph({&target}));
  const auto node = start_recording<ScalarExponentNode>({&target}, exponent);
  if (node) node->save_input(0, clone(target));
  refuse_overlap(*target);
  const DType dtype = kernels::result_dtype(*target, exponent);
  refuse_cast(dtype, *target);
  refuse_negative_power(dtype, exponent);
  const Tensor out = target->is_conjugate() ? kernels::allocate_like(*target, target->dtype()) : target;
  raise(*out, *target, exponent);
  if (out != target) kernels::copy(*target, *out);
  finish_in_place(target, node);
  return target;
}

Tensor pow_in_place(const Tensor& target, const Tensor& exponent) {
  check_inplace(target, needs_graph({&target, &exponent}));
  const auto node = start_recording<TensorsNode>({&target, &exponent});
  save_two(node, exponent, -1, node ? clone(target) : target, -1);
  kernels::check_target(*target, *exponent);
  kernels::change(target, exponent, Power());
  finish_in_place(target, node);
  if (node) node->save_output(2, target, true);
  return target;
}

}  // namespace gradlife::ops
