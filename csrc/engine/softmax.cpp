// Softmax and its logarithm along one dimension, and the logarithm of sums of exponentials.
#include <cmath>
#include <limits>

#include "engine/reduction_ops.hpp"
#include "engine/rows.hpp"
#include "engine/saving_node.hpp"

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

struct Softmax {
  static constexpr bool is_log = false;
  static constexpr const char* kernel = "softmax_kernel_impl";
  static constexpr const char* kernel_of_last = "softmax_lastdim_kernel_impl";
  static double of(double x, double top, double sum) { return std::exp(x - top) / sum; }
};
struct LogSoftmax {
  static constexpr bool is_log = true;
  static constexpr const char* kernel = "log_softmax_kernel_impl";
  static constexpr const char* kernel_of_last = "log_softmax_lastdim_kernel_impl";
  static double of(double x, double top, double sum) { return x - top - std::log(sum); }
};

template <class F>
Tensor normalised(const Tensor& a, size_t dim) {
  const Tensor input = kernels::packed(a);
  const Tensor result = empty(a->sizes(), a->dtype());
  const bool is_last = dim + 1 >= a->dim();
  kernels::dispatch_floats(a->dtype(), is_last ? F::kernel_of_last : F::kernel, [&](auto zero) {
    using T = decltype(zero);
    kernels::along_lines<T>(*input, *result, dim, [](const T* in, T* out, int64_t length, int64_t step) {
      const double top = largest(in, length, step);
      const double sum = sum_of_exponentials(in, length, step, top);
      for (int64_t i = 0; i < length; ++i) out[i * step] = static_cast<T>(F::of(in[i * step], top, sum));
    });
  });
  return result;
}

const std::vector<SavedField> forward_fields{saved_number("dim"), saved_tensor("result")};
const std::vector<SavedField> backward_fields{saved_number("dim"), saved_tensor("grad_output"), saved_tensor("output")};
const NodeSpec& softmax_spec = node_spec("SoftmaxBackward0", forward_fields);
const NodeSpec& log_softmax_spec = node_spec("LogSoftmaxBackward0", forward_fields);
const NodeSpec& softmax_data_spec = node_spec("SoftmaxBackwardDataBackward0", backward_fields);
const NodeSpec& log_softmax_data_spec = node_spec("LogSoftmaxBackwardDataBackward0", backward_fields);

Tensor backward_data(bool is_log, const Tensor& gradient, const Tensor& output, int64_t dim);

// The node of the gradient itself. Slots: grad_output, output.
class BackwardDataNode final : public OpNode<2> {
 public:
  BackwardDataNode(bool is_log, int64_t dim)
      : OpNode<2>(is_log ? log_softmax_data_spec : softmax_data_spec), is_log_(is_log), dim_(dim) {}
  SavedValue saved_value(size_t) const override { return saved(dim_); }

 protected:
  void differentiate(const Tensor& arriving, TensorList& results) override {
    const Tensor gradient = unpack(0);
    const Tensor output = unpack(1);
    if (needs(0))
      results[0] = is_log_ ? log_by_gradient(arriving, output) : backward_data(false, arriving, output, dim_);
    if (needs(1))
      results[1] = is_log_ ? log_by_output(arriving, gradient, output) : by_output(arriving, gradient, output);
  }

 private:
  Tensor total(const Tensor& tensor) const { return sum(tensor, {dim_}, true); }
  Tensor by_output(const Tensor& arriving, const Tensor& gradient, const Tensor& output) const {
    const Tensor spread = sub(mul(arriving, gradient), mul(total(mul(output, gradient)), arriving));
    return sub(spread, mul(gradient, total(mul(arriving, output))));
  }
  Tensor log_by_gradient(const Tensor& arriving, const Tensor& output) const {
    return sub(arriving, total(mul(arriving, exp(output))));
  }
  Tensor log_by_output(const Tensor& arriving, const Tensor& gradient, const Tensor& output) const {
    return mul(mul(neg(total(gradient)), exp(output)), arriving);
  }
  bool is_log_;
  int64_t dim_;
};

Tensor backward_data(bool is_log, const Tensor& gradient, const Tensor& output, int64_t dim) {
  const auto node = start_recording<BackwardDataNode>({&gradient, &output}, is_log, dim);
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
                              for (int64_t i = 0; i < length; ++i)
                                sum += double{in[i * step]} * (is_log ? 1 : double{of[i * step]});
                              for (int64_t i = 0; i < length; ++i) {
                                const double g = in[i * step];
                                const double y = of[i * step];
                                out[i * step] = static_cast<T>(is_log ? g - std::exp(y) * sum : y * (g - sum));
                              }
                            });
  });
  if (node) set_history(result, node.owner);
  return result;
}

struct Normalised {
  bool is_log;
  int64_t dim;
  static constexpr bool saves_result = true, saves_self = false;
  const NodeSpec& spec() const { return is_log ? log_softmax_spec : softmax_spec; }
  SavedValue value(size_t) const { return saved(dim); }
  Tensor gradient(const Tensor& gradient, const Tensor&, const Tensor& result) const {
    return backward_data(is_log, gradient, result, dim);
  }
};

template <class F>
Tensor normalise(const Tensor& given, int64_t dim, const DType* dtype) {
  refuse_forbidden_view_of(given);
  const Tensor a = dtype != nullptr ? to_dtype(given, *dtype) : given;
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  return record_saving(a, Normalised{F::is_log, dim}, [&] { return normalised<F>(a, at); });
}

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
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("LogsumexpBackward0", {saved_number("dim"), saved_number("keepdim"),
                                                                   saved_tensor("result"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t field) const { return field == 0 ? saved(dims) : saved(keepdim); }
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor& result) const {
    const Dims& sizes = self->sizes();
    const Tensor total = restored_unless(keepdim, result, sizes, dims);
    return mul(restored_unless(keepdim, gradient, sizes, dims), exp(sub(self, total)));
  }
};

}  // namespace

Tensor softmax(const Tensor& a, int64_t dim, const DType* dtype) { return normalise<Softmax>(a, dim, dtype); }

Tensor log_softmax(const Tensor& a, int64_t dim, const DType* dtype) { return normalise<LogSoftmax>(a, dim, dtype); }

Tensor logsumexp(const Tensor& given, const Dims& dims, bool keepdim) {
  refuse_forbidden_view_of(given);
  kernels::require_dims(*given, dims);
  const Tensor a = is_floating(given->dtype()) ? given : to_dtype(given, DType::float32);
  refuse_out_form(given, "logsumexp");
  return record_saving(a, SummedExponentials{dims, keepdim},
                       [&] { return written(summed_exponentials(a, dims, keepdim), given); });
}

}  // namespace gradlife::ops
