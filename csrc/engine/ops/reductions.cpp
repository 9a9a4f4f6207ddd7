// Sums and means. Floats are added in doubles: exact enough in any order.
#include "engine/backward/op_node.hpp"
#include "engine/ops/ops.hpp"
#include "engine/ops/rows.hpp"

namespace gradlife::ops {
namespace {

template <class T>
using Wide = std::conditional_t<is_complex_type<T>, std::complex<double>,
                                std::conditional_t<std::is_floating_point_v<T>, double, int64_t>>;
template <class T>
using Narrow = std::conditional_t<is_complex_type<T> || std::is_floating_point_v<T>, T, int64_t>;

template <class Out, class Sum>
Out divided(Sum sum, double divisor) {
  if constexpr (is_complex_type<Sum>)
    return static_cast<Out>(sum / divisor);
  else
    return divisor == 1 ? static_cast<Out>(sum) : static_cast<Out>(static_cast<double>(sum) / divisor);
}

// Several running sums, so that additions need not wait for each other.
template <class T>
Wide<T> row_sum(int64_t length, const T* from, int64_t step) {
  constexpr int64_t lanes = 8;
  Wide<T> sums[lanes] = {};
  int64_t i = 0;
  if (step == 1) {
    for (; i + lanes <= length; i += lanes)
      for (int64_t lane = 0; lane < lanes; ++lane) sums[lane] += Wide<T>(from[i + lane]);
  }
  for (; i < length; ++i) sums[0] += Wide<T>(from[i * step]);
  Wide<T> total = 0;
  for (Wide<T> sum : sums) total += sum;
  return total;
}

// Adds `from` to `sums`, which has stride 0 along every reduced dimension.
template <class T>
void add_up(const TensorImpl& from, const Dims& sum_strides, Wide<T>* sums) {
  const kernels::Loops loops = kernels::plan(from.sizes(), {&from.strides(), &sum_strides});
  const T* data = from.data<T>();
  const int64_t step = kernels::row_stride(loops, 0);
  const int64_t sum_step = kernels::row_stride(loops, 1);
  kernels::run<2>(loops, [&](int64_t length, const int64_t* at) {
    const T* row = data + at[0];
    Wide<T>* to = sums + at[1];
    if (sum_step == 0) {
      *to += row_sum(length, row, step);
    } else if (step == 1 && sum_step == 1) {
      for (int64_t i = 0; i < length; ++i) to[i] += Wide<T>(row[i]);
    } else {
      for (int64_t i = 0; i < length; ++i) to[i * sum_step] += Wide<T>(row[i * step]);
    }
  });
}

// Returns the input in the requested dtype; without history, as PyTorch converts within the reduction.
Tensor as_asked(const Tensor& input, const DType* dtype) {
  if (dtype == nullptr || *dtype == input->dtype()) return input;
  Tensor converted = empty(input->sizes(), *dtype);
  kernels::copy(*converted, *input);
  return converted;
}

// Returns the sums, divided by `divisor` if it is not 1.
Tensor reduced(const Tensor& given, const DType* dtype, const kernels::Reduction& plan, double divisor) {
  const Tensor converted = kernels::resolved(as_asked(given, dtype));
  const TensorImpl& input = *converted;
  Tensor result = empty(plan.sizes, is_differentiable(input.dtype()) ? input.dtype() : DType::int64);
  const auto body = [&](auto zero) {
    using T = decltype(zero);
    using Out = Narrow<T>;
    Wide<T> single = 0;
    std::vector<Wide<T>> many(result->numel() == 1 ? 0 : static_cast<size_t>(result->numel()));
    Wide<T>* sums = result->numel() == 1 ? &single : many.data();
    add_up<T>(input, plan.kept_strides, sums);
    Out* to = result->data<Out>();
    for (int64_t i = 0; i < result->numel(); ++i) to[i] = divided<Out>(sums[i], divisor);
  };
  is_complex(input.dtype()) ? kernels::dispatch_complex(input.dtype(), body) : kernels::dispatch(input.dtype(), body);
  return result;
}

struct SummedAll {
  Dims sizes;
  inline static const NodeSpec& spec = node_spec("SumBackward0", {saved_number("self_sym_sizes")});
  SavedValue value(size_t) const { return saved(sizes); }
  Tensor gradient(const Tensor& gradient) const { return expand(gradient, sizes); }
};

struct SummedDims {
  Dims sizes;
  Dims dims;
  bool keepdim;
  inline static const NodeSpec& spec =
      node_spec("SumBackward1", {saved_number("dim"), saved_number("keepdim"), saved_number("self_sym_sizes")});
  SavedValue value(size_t field) const { return field == 0 ? saved(dims) : field == 1 ? saved(keepdim) : saved(sizes); }
  Tensor gradient(const Tensor& gradient) const {
    return expand(restored_unless(keepdim, gradient, sizes, dims), sizes);
  }
};

struct AveragedAll {
  Dims sizes;
  inline static const NodeSpec& spec =
      node_spec("MeanBackward0", {saved_number("self_sym_numel"), saved_number("self_sym_sizes")});
  SavedValue value(size_t field) const { return field == 0 ? saved(sizes.product()) : saved(sizes); }
  Tensor gradient(const Tensor& gradient) const { return div_scalar(expand(gradient, sizes), sizes.product()); }
};

struct AveragedDims {
  SummedDims sum;
  int64_t count;
  inline static const NodeSpec& spec = node_spec(
      "MeanBackward1",
      {saved_number("dim"), saved_number("keepdim"), saved_number("self_sym_numel"), saved_number("self_sym_sizes")});
  SavedValue value(size_t field) const {
    return field == 2 ? saved(sum.sizes.product()) : sum.value(field < 2 ? field : 2);
  }
  Tensor gradient(const Tensor& gradient) const { return div_scalar(sum.gradient(gradient), count); }
};

void refuse_integer_mean(DType dtype) {
  require(is_differentiable(dtype),
          "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ",
          kernels::scalar_type_name(dtype));
}

}  // namespace

Tensor sum(const Tensor& a, const DType* dtype) {
  refuse_forbidden_view_of(a);
  const auto compute = [&] { return written(reduced(a, dtype, kernels::plan_reduction(*a, {}, false), 1), a); };
  return recorded(dtype == nullptr ? lowered("sum.default", compute, a) : compute(), a, SummedAll{a->sizes()});
}

Tensor sum(const Tensor& a, const Dims& dims, bool keepdim, const DType* dtype) {
  refuse_forbidden_view_of(a);
  kernels::require_dims(*a, dims);
  const auto compute = [&] { return written(reduced(a, dtype, kernels::plan_reduction(*a, dims, keepdim), 1), a); };
  return recorded(dtype == nullptr ? lowered("sum.dim_IntList", compute, a, dims, keepdim) : compute(), a,
                  SummedDims{a->sizes(), dims, keepdim});
}

Tensor mean(const Tensor& a, const DType* dtype) {
  refuse_forbidden_view_of(a);
  refuse_integer_mean(dtype != nullptr ? *dtype : a->dtype());
  refuse_out_form(a, "sum");
  const double count = static_cast<double>(a->numel());
  const auto compute = [&] { return written(reduced(a, dtype, kernels::plan_reduction(*a, {}, false), count), a, 2); };
  return recorded(dtype == nullptr ? lowered("mean.default", compute, a) : compute(), a, AveragedAll{a->sizes()});
}

Tensor mean(const Tensor& a, const Dims& dims, bool keepdim, const DType* dtype) {
  refuse_forbidden_view_of(a);
  kernels::require_dims(*a, dims);
  refuse_integer_mean(dtype != nullptr ? *dtype : a->dtype());
  const kernels::Reduction plan = kernels::plan_reduction(*a, dims, keepdim);
  const int64_t count = kernels::reduced_count(*a, plan);
  const double divisor = static_cast<double>(count);
  refuse_out_form(a, "sum");
  const auto compute = [&] { return written(reduced(a, dtype, plan, divisor), a, 2); };
  return recorded(dtype == nullptr ? lowered("mean.dim", compute, a, dims, keepdim) : compute(), a,
                  AveragedDims{{a->sizes(), dims, keepdim}, count});
}

Tensor sum_to_size(const Tensor& a, const Dims& sizes) {
  if (sizes.empty()) return sum(a);
  const size_t leading = a->dim() - sizes.size();
  Dims reduced_dims;
  for (size_t i = 0; i < a->dim(); ++i)
    if (i < leading || (sizes[i - leading] == 1 && a->sizes()[i] != 1)) reduced_dims.push_back(static_cast<int64_t>(i));
  const Tensor result = reduced_dims.empty() ? a : sum(a, reduced_dims, true);
  return leading > 0 ? view(result, sizes) : result;
}

}  // namespace gradlife::ops
