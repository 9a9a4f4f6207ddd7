// Norms of vectors, and distances.
#include <cmath>
#include <limits>

#include "engine/indexing.hpp"
#include "engine/reduction_ops.hpp"
#include "engine/rows.hpp"
#include "engine/saving_node.hpp"

namespace gradlife::ops {
namespace {

double magnitude(double x) { return std::fabs(x); }

template <class T>
double norm_of(const T* row, int64_t length, double order) {
  double total = 0;
  if (std::isinf(order)) {
    total = order > 0 ? 0 : std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < length; ++i) {
      const double x = magnitude(row[i]);
      if (std::isnan(x)) return x;
      total = order > 0 ? std::max(total, x) : std::min(total, x);
    }
    return total;
  }
  for (int64_t i = 0; i < length; ++i) {
    const double x = magnitude(row[i]);
    total += order == 0 ? (x != 0) : order == 1 ? x : order == 2 ? x * x : std::pow(x, order);
  }
  if (order == 0 || order == 1) return total;
  return order == 2 ? std::sqrt(total) : std::pow(total, 1 / order);
}

Tensor measured(const Tensor& a, double order, const Dims& dims, bool keepdim, DType dtype) {
  const kernels::Reduction plan = kernels::plan_reduction(*a, dims, keepdim);
  const Tensor result = empty(plan.sizes, dtype);
  const kernels::Rows rows = kernels::rows_of(a, plan);
  kernels::dispatch_floats(dtype, "norm", [&](auto out_zero) {
    using Out = decltype(out_zero);
    kernels::dispatch_floats(a->dtype(), "norm", [&](auto zero) {
      using T = decltype(zero);
      kernels::reduce_rows<Out, T>(rows, *result, [order](const T* row, int64_t length) {
        return static_cast<Out>(norm_of(row, length, order));
      });
    });
  });
  return result;
}

// `tensor`, a new one, with 0 where `of` is 0.
Tensor cleared(const Tensor& tensor, const Tensor& of) {
  return masked_fill(tensor, compare_number(Comparison::eq, of, 0), Scalar(0), Form::in_place);
}

Tensor power_of_magnitude(const Tensor& a, double exponent) { return pow_scalar_in_place(abs(a), exponent); }

// Of the largest or smallest magnitudes, shared evenly.
Tensor extreme_gradient(const Tensor& gradient, const Tensor& self, const Tensor& norm, const Dims& dims) {
  const Tensor both_nan = logical_and(compare(Comparison::ne, self, self), compare(Comparison::ne, norm, norm));
  const Tensor at = compare(Comparison::eq, abs(self), norm);
  const Tensor mask = compare(Comparison::ne, at, both_nan);  // never both
  return mul(sgn(self), mul(div(gradient, sum(mask, dims, true)), mask));
}

// `gradient` and `norm` have the reduced dimensions. Nothing (an empty tensor) for the number of elements that are not
// 0, which is constant almost everywhere.
Tensor norm_gradient(const Tensor& gradient, const Tensor& self, double order, const Tensor& norm, const Dims& dims) {
  if (order == 0) return {};
  if (order == 1) return mul(sgn(self), gradient);
  if (order == 2) return mul(gradient, cleared(div(self, norm), norm));
  if (std::isinf(order)) return extreme_gradient(gradient, self, norm, dims);
  if (order < 1) {
    const Tensor scaled = mul(sgn(self), cleared(power_of_magnitude(self, order - 1), self));
    return mul(mul(scaled, gradient), pow_scalar(norm, 1 - order));
  }
  const Tensor scaled =
      order < 2 ? mul(sgn(self), power_of_magnitude(self, order - 1)) : mul(self, power_of_magnitude(self, order - 2));
  return mul(scaled, cleared(div(gradient, pow_scalar(norm, order - 1)), norm));
}

struct Norm {
  Scalar order;
  OptionalDims dims;
  bool keepdim;
  static constexpr bool saves_result = true, saves_self = true;
  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("LinalgVectorNormBackward0", {saved_number("dim"), saved_number("keepdim"), saved_number("ord"),
                                                saved_tensor("result"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t field) const { return field == 0 ? saved(dims) : field == 1 ? saved(keepdim) : saved(order); }
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor& result) const {
    const Dims named = dims ? *dims : Dims();
    const Dims& sizes = self->sizes();
    return norm_gradient(restored_unless(keepdim, gradient, sizes, named), self, order.to<double>(),
                         restored_unless(keepdim, result, sizes, named), named);
  }
};

const NodeSpec& dist_spec = node_spec(
    "DistBackward0", {saved_tensor("other"), saved_number("p"), saved_tensor("result"), saved_tensor("self")});

// Slots: other, result, self.
class DistNode final : public OpNode<3> {
 public:
  explicit DistNode(const Scalar& order) : OpNode<3>(dist_spec), order_(order) {}
  SavedValue saved_value(size_t) const override { return saved(order_); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor other = unpack(0);
    const Tensor result = unpack(1);
    const Tensor self = unpack(2);
    const auto of_difference = [&] {
      return norm_gradient(gradient, sub(self, other), order_.to<double>(), result, {});
    };
    if (needs(0)) results[0] = of_difference();
    if (!needs(1)) return;
    const Tensor found = of_difference();
    if (found) results[1] = neg(found);
  }

 private:
  Scalar order_;
};

std::string order_text(const Scalar& order) { return order.is_real() ? concat(order.real) : concat(order.integer); }

void require_identity(const TensorImpl& a, const Scalar& order, const OptionalDims& dims) {
  const double p = order.to<double>();
  if (a.numel() != 0 || (p >= 0 && !std::isinf(p))) return;
  require(dims && !dims->empty(), "linalg.vector_norm cannot compute the ", order_text(order),
          " norm on an empty tensor because the operation does not have an identity");
  for (int64_t dim : *dims)
    require(a.sizes()[static_cast<size_t>(wrap_dim(dim, a.dim()))] != 0, "linalg.vector_norm cannot compute the ",
            order_text(order), " norm on the dimension ", dim,
            "because this dimension is empty and the operation does not have an identity");
}

void check_norm_dtypes(DType input, const DType* asked) {
  require(is_floating(input), "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
          kernels::scalar_type_name(input));
  if (asked == nullptr) return;
  require(is_floating(*asked), "linalg.vector_norm: dtype should be floating point or complex, but got ",
          kernels::scalar_type_name(*asked));
  require(kernels::promote(input, *asked) == *asked, "linalg.vector_norm: the dtype of the input (",
          kernels::scalar_type_name(input), ") should be convertible without narrowing to the specified dtype (",
          kernels::scalar_type_name(*asked), ")");
}

}  // namespace

Tensor vector_norm(const Tensor& a, const Scalar& order, const OptionalDims& dims, bool keepdim, const DType* dtype) {
  check_norm_dtypes(a->dtype(), dtype);
  require_identity(*a, order, dims);
  return record_saving(a, Norm{order, dims, keepdim}, [&] {
    return measured(a, order.to<double>(), dims ? *dims : Dims(), keepdim, dtype != nullptr ? *dtype : a->dtype());
  });
}

Tensor dist(const Tensor& a, const Tensor& b, const Scalar& order) {
  const auto node = start_recording<DistNode>({&a, &b}, order);
  if (node) node->save_input(0, b);
  if (node) node->save_input(2, a);
  Tensor result;
  {
    const GradMode mode(false);
    const Tensor difference = sub(a, b);
    require(is_floating(difference->dtype()), "norm(): input dtype should be either floating point or complex. Got ",
            kernels::scalar_type_name(difference->dtype()), " instead.");
    require_identity(*difference, order, std::nullopt);
    result = measured(difference, order.to<double>(), {}, false, difference->dtype());
  }
  if (!node) return result;
  set_history(result, node.owner);
  node->save_output(1, result);
  return result;
}

}  // namespace gradlife::ops
