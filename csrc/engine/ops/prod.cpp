// Products of elements.
#include <cmath>
#include "engine/ops/reduction_ops.hpp"
#include "engine/ops/rows.hpp"
#include "engine/ops/saving_node.hpp"

namespace gradlife::ops {
namespace {

template <class Out, class T>
Out row_product(const T* row, int64_t length) {
  std::conditional_t<std::is_floating_point_v<T>, double, int64_t> product = 1;
  for (int64_t i = 0; i < length; ++i) product *= row[i];
  return static_cast<Out>(product);
}

DType product_dtype(const TensorImpl& a, const DType* asked) {
  if (asked != nullptr) return *asked;
  return is_floating(a.dtype()) ? a.dtype() : DType::int64;
}

Tensor multiplied(const Tensor& a, const Dims& dims, bool keepdim, const DType* asked) {
  Tensor input = a;
  if (asked != nullptr && *asked != a->dtype()) {
    input = empty(a->sizes(), *asked);
    kernels::copy(*input, *a);
  }
  const kernels::Reduction plan = kernels::plan_reduction(*input, dims, keepdim);
  const Tensor result = empty(plan.sizes, product_dtype(*input, asked));
  const kernels::Rows rows = kernels::rows_of(input, plan);
  kernels::dispatch(input->dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::dispatch(result->dtype(), [&](auto out_zero) {
      using Out = decltype(out_zero);
      kernels::reduce_rows<Out, T>(rows, *result, row_product<Out, T>);
    });
  });
  return result;
}

// Returns, for each element, the product of all others along the dimension; without history.
Tensor products_of_others(const Tensor& a, size_t dim) {
  const Tensor input = kernels::packed(a);
  const Tensor result = empty(a->sizes(), a->dtype());
  kernels::dispatch_floats(a->dtype(), "prod_backward", [&](auto zero) {
    using T = decltype(zero);
    kernels::along_lines<T>(*input, *result, dim, [](const T* in, T* out, int64_t length, int64_t step) {
      double before = 1;
      for (int64_t i = 0; i < length; before *= in[i++ * step]) out[i * step] = static_cast<T>(before);
      double after = 1;
      for (int64_t i = length; i-- > 0; after *= in[i * step]) out[i * step] = static_cast<T>(out[i * step] * after);
    });
  });
  return result;
}

// The same with history: one product for each element.
Tensor recorded_products_of_others(const Tensor& a, int64_t dim) {
  const int64_t length = a->sizes()[static_cast<size_t>(dim)];
  TensorList products;
  for (int64_t i = 0; i < length; ++i) {
    const Tensor others = cat({narrow(a, dim, 0, i), narrow(a, dim, i + 1, length - i - 1)}, dim);
    products.push_back(prod(others, dim, false));
  }
  return stack(products, dim);
}

bool has_several_zeros(const Tensor& a) { return a->numel() - item(count_nonzero(a, {})).to<int64_t>() > 1; }

// Divides if no element is 0; a single factor has no others to multiply.
Tensor gradient_along(const Tensor& gradient, const Tensor& self, const Tensor& result, int64_t dim) {
  if (item(all(self)).to<bool>()) return mul(gradient, div(result, self));
  if (self->sizes()[static_cast<size_t>(dim)] == 1) return gradient;
  const bool is_recorded = grad_enabled() && requires_grad(self);
  return mul(gradient,
             is_recorded ? recorded_products_of_others(self, dim) : products_of_others(self, static_cast<size_t>(dim)));
}

struct MultipliedAll {
  static constexpr bool saves_result = true, saves_self = true;
  inline static const NodeSpec& spec = node_spec("ProdBackward0", {saved_tensor("result"), saved_tensor("self")});
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient, const Tensor& given, const Tensor& result) const {
    const Tensor self = to_dtype(given, gradient->dtype());
    if (self->dim() == 0) return gradient;
    if (item(all(self)).to<bool>()) return mul(gradient, div(result, self));
    const bool may_be_constant = !grad_enabled() || !has(*current_policy(), traits::records_product_of_zeros);
    if (may_be_constant && has_several_zeros(self)) return full(self->sizes(), 0, self->dtype());
    return reshape(gradient_along(gradient, reshape(self, {-1}), result, 0), self->sizes());
  }
};

struct MultipliedDim {
  int64_t dim;
  bool keepdim;
  static constexpr bool saves_result = true, saves_self = true;
  inline static const NodeSpec& spec = node_spec(
      "ProdBackward1", {saved_number("dim"), saved_number("keepdim"), saved_tensor("result"), saved_tensor("self")});
  SavedValue value(size_t field) const { return field == 0 ? saved(dim) : saved(keepdim); }
  Tensor gradient(const Tensor& gradient, const Tensor& given, const Tensor& result) const {
    const Tensor self = to_dtype(given, gradient->dtype());
    if (self->dim() == 0) return gradient;
    const int64_t at = wrap_dim(dim, self->dim());
    const Tensor wide = keepdim ? gradient : unsqueeze(gradient, at);
    return gradient_along(wide, self, keepdim ? result : unsqueeze(result, at), at);
  }
};

}  // namespace

Tensor prod(const Tensor& a, const DType* dtype) {
  refuse_forbidden_view_of(a);
  return record_saving(a, MultipliedAll(), [&] { return written(multiplied(a, {}, false, dtype), a); });
}

Tensor prod(const Tensor& a, int64_t dim, bool keepdim, const DType* dtype) {
  refuse_forbidden_view_of(a);
  return record_saving(a, MultipliedDim{dim, keepdim},
                       [&] { return written(multiplied(a, {dim}, keepdim, dtype), a); });
}

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

}  // namespace gradlife::ops
