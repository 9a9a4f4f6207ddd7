// Comparisons, logic on bool tensors, and selection by a condition.
#include <cmath>
#include <functional>

#include "engine/backward/op_node.hpp"
#include "engine/ops/binary.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

struct Equal {
  using TakesComplex = void;
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};

struct Unequal {
  using TakesComplex = void;
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};

template <class F>
Tensor test(const Tensor& a, const kernels::TensorOrNumber& b, F f) {
  Tensor out = kernels::allocate_for(a, b, DType::boolean);
  kernels::dispatch_for<F>(kernels::dtype_of(a, b), [&](auto zero) {
    using T = decltype(zero);
    kernels::map<bool>(*out, kernels::Operand<T>(*a), kernels::Operand<T>(b), f);
  });
  return out;
}

// Complex numbers have no order.
void refuse_order(DType dtype, const char* kernel) {
  if (is_complex(dtype))
    fail(ErrorKind::not_implemented, "\"", kernel, "\" not implemented for '", kernels::scalar_type_name(dtype), "'");
}

Tensor compared(Comparison comparison, const Tensor& a, const kernels::TensorOrNumber& b) {
  static constexpr const char* names[] = {"eq_cpu", "ne_cpu", "lt_cpu", "le_cpu", "gt_cpu", "ge_cpu"};
  if (comparison != Comparison::eq && comparison != Comparison::ne)
    refuse_order(kernels::dtype_of(a, b), names[static_cast<size_t>(comparison)]);
  switch (comparison) {
    case Comparison::eq:
      return test(a, b, Equal());
    case Comparison::ne:
      return test(a, b, Unequal());
    case Comparison::lt:
      return test(a, b, std::less<>());
    case Comparison::le:
      return test(a, b, std::less_equal<>());
    case Comparison::gt:
      return test(a, b, std::greater<>());
    case Comparison::ge:
      break;
  }
  return test(a, b, std::greater_equal<>());
}

Tensor compare_with(Comparison comparison, const Tensor& a, const kernels::TensorOrNumber& b,
                    const char* const* names) {
  return lowered(names[static_cast<size_t>(comparison)], [&] { return compared(comparison, a, b); }, a, b);
}

class WhereNode final : public OpNode<1> {
 public:
  WhereNode()
      : OpNode<1>([]() -> const NodeSpec& {
          static const NodeSpec& spec = node_spec("WhereBackward0", {saved_tensor("condition")});
          return spec;
        }()) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor condition = unpack(0);
    const Tensor zero = full({}, 0.0, gradient->dtype());
    if (needs(0)) results[0] = where(condition, gradient, zero);
    if (needs(1)) results[1] = where(condition, zero, gradient);
  }
};

template <class T>
void choose(const TensorImpl& out, const TensorImpl& condition, const TensorImpl& a, const TensorImpl& b) {
  const kernels::Operand<T> left(a);
  const kernels::Operand<T> right(b);
  const kernels::Operand<bool> test(condition);
  const Dims test_strides = test.strides_in(out.sizes());
  const Dims left_strides = left.strides_in(out.sizes());
  const Dims right_strides = right.strides_in(out.sizes());
  const kernels::Loops loops =
      kernels::plan(out.sizes(), {&out.strides(), &test_strides, &left_strides, &right_strides});
  T* to = out.data<T>();
  kernels::run<4>(loops, [&](int64_t length, const int64_t* at) {
    for (int64_t i = 0; i < length; ++i) {
      const bool first = test.data()[at[1] + i * kernels::row_stride(loops, 1)];
      to[at[0] + i * kernels::row_stride(loops, 0)] = first ? left.data()[at[2] + i * kernels::row_stride(loops, 2)]
                                                            : right.data()[at[3] + i * kernels::row_stride(loops, 3)];
    }
  });
}

template <class Predicate>
bool holds_everywhere(const Tensor& a, const Tensor& b, Predicate predicate) {
  return item(all(test(a, b, predicate))).integer != 0;
}

// Whether any element is `wanted`.
Tensor found(const Tensor& a, bool wanted) {
  bool is_found = false;
  const kernels::Loops loops = kernels::plan(a->sizes(), {&a->strides()});
  kernels::dispatch(a->dtype(), [&](auto zero) {
    const auto* from = a->data<decltype(zero)>();
    kernels::run<1>(loops, [&](int64_t length, const int64_t* at) {
      for (int64_t i = 0; i < length && !is_found; ++i)
        is_found = (from[at[0] + i * kernels::row_stride(loops, 0)] != decltype(zero)(0)) == wanted;
    });
  });
  return full({}, Scalar::boolean(is_found == wanted), DType::boolean);
}

}  // namespace

Tensor compare(Comparison comparison, const Tensor& a, const Tensor& b) {
  static constexpr const char* names[] = {"eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor"};
  return compare_with(comparison, a, b, names);
}

Tensor compare_number(Comparison comparison, const Tensor& a, const Scalar& b) {
  static constexpr const char* names[] = {"eq.Scalar", "ne.Scalar", "lt.Scalar", "le.Scalar", "gt.Scalar", "ge.Scalar"};
  return compare_with(comparison, a, b, names);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  require(condition->dtype() == DType::boolean,
          "where expected condition to be a boolean tensor, but got a tensor with dtype ",
          kernels::scalar_type_name(condition->dtype()));
  const auto node = start_recording<WhereNode>({&a, &b});
  if (node) node->save_input(0, condition);
  const DType dtype = kernels::dtype_of(a, b);
  const Dims sizes = kernels::broadcast_sizes(condition->sizes(), kernels::broadcast_sizes(a->sizes(), b->sizes()));
  Tensor out = kernels::allocate_result(sizes, dtype, {condition.get(), a.get(), b.get()});
  const auto body = [&](auto zero) { choose<decltype(zero)>(*out, *condition, *a, *b); };
  is_complex(dtype) ? kernels::dispatch_complex(dtype, body) : kernels::dispatch(dtype, body);
  if (node) set_history(out, node.owner);
  return out;
}

Tensor logical_and(const Tensor& a, const Tensor& b) {
  return test(a, b, [](auto x, auto y) { return x != decltype(x)(0) && y != decltype(y)(0); });
}

Tensor all(const Tensor& a) { return found(a, false); }

Tensor any(const Tensor& a) { return found(a, true); }

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  require(a->dtype() == b->dtype(), kernels::scalar_type_name(a->dtype()), " did not match ",
          kernels::scalar_type_name(b->dtype()));
  return holds_everywhere(a, b, [=](auto x, auto y) {
    const double left = static_cast<double>(x);
    const double right = static_cast<double>(y);
    if (left == right) return true;
    if (equal_nan && std::isnan(left) && std::isnan(right)) return true;
    return std::isfinite(right) && std::fabs(left - right) <= atol + rtol * std::fabs(right);
  });
}

}  // namespace gradlife::ops
