// Whether and how often elements are not 0, and sums that leave out nans.
#include <cmath>

#include "engine/clamping.hpp"
#include "engine/reduction_ops.hpp"
#include "engine/rows.hpp"
#include "engine/saving_node.hpp"

namespace gradlife::ops {
namespace {

// f(row, length) of any dtype.
template <class Out, class F>
Tensor reduced_rows(const Tensor& a, const Dims& dims, bool keepdim, DType dtype, F f) {
  const kernels::Reduction plan = kernels::plan_reduction(*a, dims, keepdim);
  const Tensor result = empty(plan.sizes, dtype);
  const kernels::Rows rows = kernels::rows_of(a, plan);
  kernels::dispatch(a->dtype(), [&](auto zero) { kernels::reduce_rows<Out, decltype(zero)>(rows, *result, f); });
  return result;
}

struct SummedNumbers {
  OptionalDims dims;
  bool keepdim;
  static constexpr bool saves_result = false, saves_self = true;
  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("NansumBackward0", {saved_number("dim"), saved_number("keepdim"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t field) const { return field == 0 ? saved(dims) : saved(keepdim); }
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor&) const {
    const Dims named = dims ? *dims : Dims();
    const Tensor wide = expand(restored_unless(keepdim, gradient, self->sizes(), named), self->sizes());
    return mul(wide, logical_not(is_of_class(Class::nan, self)));
  }
};

}  // namespace

Tensor all_of_dims(const Tensor& a, const Dims& dims, bool keepdim) {
  kernels::require_dims(*a, dims);
  return reduced_rows<bool>(a, dims, keepdim, DType::boolean, [](const auto* row, int64_t length) {
    for (int64_t i = 0; i < length; ++i)
      if (!static_cast<bool>(row[i])) return false;
    return true;
  });
}

Tensor any_of_dims(const Tensor& a, const Dims& dims, bool keepdim) {
  kernels::require_dims(*a, dims);
  return reduced_rows<bool>(a, dims, keepdim, DType::boolean, [](const auto* row, int64_t length) {
    for (int64_t i = 0; i < length; ++i)
      if (static_cast<bool>(row[i])) return true;
    return false;
  });
}

Tensor count_nonzero(const Tensor& a, const Dims& dims) {
  kernels::require_dims(*a, dims);
  return reduced_rows<int64_t>(a, dims, false, DType::int64, [](const auto* row, int64_t length) {
    int64_t count = 0;
    for (int64_t i = 0; i < length; ++i) count += static_cast<bool>(row[i]) ? 1 : 0;
    return count;
  });
}

Tensor nansum(const Tensor& a, const OptionalDims& dims, bool keepdim, const DType* dtype) {
  refuse_forbidden_view_of(a);
  const Dims named = dims ? *dims : Dims();
  if (!is_floating(a->dtype())) return sum(a, named, keepdim, dtype);
  kernels::plan_reduction(*a, named, keepdim);  // dimensions are refused in the order in which they are named
  return record_saving(a, SummedNumbers{dims, keepdim}, [&] {
    const GradMode mode(false);
    return sum(where(is_of_class(Class::nan, a), full({}, 0, a->dtype()), a), named, keepdim, dtype);
  });
}

Tensor nanmean(const Tensor& a, const OptionalDims& dims, bool keepdim, const DType* dtype) {
  require(is_floating(a->dtype()), "nanmean(): expected input to have floating point or complex dtype but got ",
          kernels::scalar_type_name(a->dtype()));
  const Tensor numbers = logical_not(is_of_class(Class::nan, a));
  const Tensor count = sum(numbers, dims ? *dims : Dims(), keepdim);
  return div(nansum(a, dims, keepdim, dtype), count);
}

// Of each element and the one before it, `times` times over.
Tensor diff(const Tensor& a, int64_t times, int64_t dim, const Tensor& before, const Tensor& after) {
  require(a->dim() != 0, "diff expects input to be at least one-dimensional");
  require(times >= 0, "order must be non-negative but got ", times);
  if (times == 0) return copy_in_place(zeros_like(a), a);
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  TensorList parts;
  for (const Tensor* each : {&before, &a, &after})
    if (*each) parts.push_back(*each);
  Tensor result = parts.size() > 1 ? cat(parts, dim) : a;
  times = std::min(times, result->sizes()[at]);
  for (; times > 0; --times) {
    const int64_t length = result->sizes()[at] - 1;
    const Tensor earlier = narrow(result, dim, 0, length);
    const Tensor later = narrow(result, dim, 1, length);
    result = result->dtype() == DType::boolean ? compare(Comparison::ne, later, earlier) : sub(later, earlier);
  }
  return result;
}

}  // namespace gradlife::ops
