// Softmax and its logarithm along one dimension, and the logarithm of sums of exponentials.
#include <cmath>
#include <limits>

#include "engine/ops/reduction_ops.hpp"
#include "engine/ops/rows.hpp"
#include "engine/ops/saving_node.hpp"

namespace gradlife::ops {
namespace {

template <class T>
double largest(const T* line, int64_t length, int64_t step) {
  double top = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < length; ++i) top = std::max(top, static_cast<double>(line[i * step]));
  return top;
}

// The sum of exp(x - shift).
template <class T>
double sum_of_exponentials(const T* line, int64_t length, int64_t step, double shift) {
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += std::exp(line[i * step] - shift);
  return sum;
}

Tensor normalised(const Tensor& a, size_t dim) {
  const Tensor input = kernels::packed(a);
  const Tensor result = empty(a->sizes(), a->dtype());
  const char* kernel = dim + 1 >= a->dim() ? "softmax_lastdim_kernel_impl" : "softmax_kernel_impl";
  kernels::dispatch_floats(a->dtype(), kernel, [&](auto zero) {
    using T = decltype(zero);
    kernels::along_lines<T>(*input, *result, dim, [](const T* in, T* out, int64_t length, int64_t step) {
      const double top = largest(in, length, step);
      const double sum = sum_of_exponentials(in, length, step, top);
      for (int64_t i = 0; i < length; ++i) out[i * step] = static_cast<T>(std::exp(in[i * step] - top) / sum);
    });
  });
  return result;
}

const NodeSpec& softmax_data_spec = node_spec(
    "SoftmaxBackwardDataBackward0", {saved_number("dim"), saved_tensor("grad_output"), saved_tensor("output")});

Tensor backward_data(const Tensor& gradient, const Tensor& output, int64_t dim);

// The node of the gradient itself. Slots: grad_output, output.
class BackwardDataNode final : public OpNode<2> {
 public:
  explicit BackwardDataNode(int64_t dim) : OpNode<2>(softmax_data_spec), dim_(dim) {}
  SavedValue saved_value(size_t) const override { return saved(dim_); }

 protected:
  void differentiate(const Tensor& arriving, TensorList& results) override {
    const Tensor gradient = unpack(0);
    const Tensor output = unpack(1);
    if (needs(0)) results[0] = backward_data(arriving, output, dim_);
    if (!needs(1)) return;
    const Tensor spread = sub(mul(arriving, gradient), mul(total(mul(output, gradient)), arriving));
    results[1] = sub(spread, mul(gradient, total(mul(arriving, output))));
  }

 private:
  Tensor total(const Tensor& tensor) const { return sum(tensor, {dim_}, true); }
  int64_t dim_;
};

Tensor backward_data(const Tensor& gradient, const Tensor& output, int64_t dim) {
  const auto node = start_recording<BackwardDataNode>({&gradient, &output}, dim);
  if (node) node->save_input(0, gradient);
  if (node) node->save_input(1, output);
  const Tensor given = kernels::packed(gradient);
  const Tensor made = kernels::packed(output);
  const Tensor result = empty(output->sizes(), output->dtype());
  kernels::dispatch_floats(output->dtype(), "softmax_backward", [&](auto zero) {
    using T = decltype(zero);
    const T* start = made->data<T>();
    kernels::along_lines<T>(*given, *result, static_cast<size_t>(wrap_dim(dim, output->dim())),
                            [&](const T* in, T* out, int64_t length, int64_t step) {
                              const T* of = start + (out - result->data<T>());
                              double sum = 0;
                              for (int64_t i = 0; i < length; ++i) sum += double{in[i * step]} * double{of[i * step]};
                              for (int64_t i = 0; i < length; ++i)
                                out[i * step] = static_cast<T>(double{of[i * step]} * (in[i * step] - sum));
                            });
  });
  if (node) set_history(result, node.owner);
  return result;
}

struct Normalised {
  int64_t dim;
  static constexpr bool saves_result = true, saves_self = false;
  inline static const NodeSpec& spec = node_spec("SoftmaxBackward0", {saved_number("dim"), saved_tensor("result")});
  SavedValue value(size_t) const { return saved(dim); }
  Tensor gradient(const Tensor& gradient, const Tensor&, const Tensor& result) const {
    return backward_data(gradient, result, dim);
  }
};

Tensor summed_exponentials(const Tensor& a, const Dims& dims, bool keepdim) {
  const kernels::Reduction plan = kernels::plan_reduction(*a, dims, keepdim);
  const Tensor result = empty(plan.sizes, a->dtype());
  const kernels::Rows rows = kernels::rows_of(a, plan);
  kernels::dispatch_floats(a->dtype(), "logsumexp", [&](auto zero) {
    using T = decltype(zero);
    kernels::reduce_rows<T, T>(rows, *result, [](const T* row, int64_t length) {
      const double top = largest(row, length, 1);
      const double shift = std::isinf(top) ? 0 : top;
      return static_cast<T>(std::log(sum_of_exponentials(row, length, 1, shift)) + shift);
    });
  });
  return result;
}

struct SummedExponentials {
  Dims dims;
  bool keepdim;
  static constexpr bool saves_result = true, saves_self = true;
  inline static const NodeSpec& spec = node_spec("LogsumexpBackward0", {saved_number("dim"), saved_number("keepdim"),
                                                                        saved_tensor("result"), saved_tensor("self")});
  SavedValue value(size_t field) const { return field == 0 ? saved(dims) : saved(keepdim); }
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor& result) const {
    const Dims& sizes = self->sizes();
    const Tensor total = restored_unless(keepdim, result, sizes, dims);
    return mul(restored_unless(keepdim, gradient, sizes, dims), exp(sub(self, total)));
  }
};

}  // namespace

Tensor softmax(const Tensor& given, int64_t dim, const DType* dtype) {
  refuse_forbidden_view_of(given);
  const Tensor a = dtype != nullptr ? to_dtype(given, *dtype) : given;
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  return record_saving(a, Normalised{dim}, [&] { return normalised(a, at); });
}

Tensor logsumexp(const Tensor& given, const Dims& dims, bool keepdim) {
  refuse_forbidden_view_of(given);
  kernels::require_dims(*given, dims);
  const Tensor a = is_floating(given->dtype()) ? given : to_dtype(given, DType::float32);
  refuse_out_form(given, "logsumexp");
  return record_saving(a, SummedExponentials{dims, keepdim},
                       [&] { return written(summed_exponentials(a, dims, keepdim), given); });
}

}  // namespace gradlife::ops
