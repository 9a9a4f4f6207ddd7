// The variance together with the mean.
#include <cmath>
#include <limits>

#include "engine/ops/index.hpp"
#include "engine/ops/reduction_ops.hpp"
#include "engine/ops/rows.hpp"
#include "engine/ops/saving_node.hpp"

namespace gradlife::ops {
namespace {

// The reduced dimensions, and the divisor of the sum of squares.
struct Spread {
  OptionalDims dims;
  Correction correction;
  bool keepdim;

  Dims named() const { return dims ? *dims : Dims(); }
  double freedom(int64_t count) const {
    return static_cast<double>(count) - (correction ? correction->to<double>() : 1);
  }
  // Values of the node's fields `correction`, `dim`, `keepdim`.
  SavedValue value(size_t field) const {
    return field == 0 ? saved(correction) : field == 1 ? saved(dims) : saved(keepdim);
  }
};

// In doubles, because the distances are small compared with the elements.
template <class T>
double row_variance(const T* row, int64_t length, double freedom, double* mean) {
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += row[i];
  *mean = sum / static_cast<double>(length);
  double squares = 0;
  for (int64_t i = 0; i < length; ++i) squares += (row[i] - *mean) * (row[i] - *mean);
  return length == 0 ? std::numeric_limits<double>::quiet_NaN() : squares / std::max(freedom, 0.0);
}

TwoTensors measure(const Tensor& a, const Spread& spread) {
  const kernels::Reduction plan = kernels::plan_reduction(*a, spread.named(), spread.keepdim);
  const Tensor variance = empty(plan.sizes, a->dtype());
  const Tensor mean = empty(plan.sizes, a->dtype());
  const kernels::Rows rows = kernels::rows_of(a, plan);
  const double freedom = spread.freedom(rows.length);
  kernels::dispatch_floats(a->dtype(), "var", [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < rows.count; ++i) {
      double middle = 0;
      const double found = row_variance(rows.row<T>(i), rows.length, freedom, &middle);
      variance->data<T>()[i] = static_cast<T>(found);
      mean->data<T>()[i] = static_cast<T>(middle);
    }
  });
  return {variance, mean};
}

int64_t count_of(const Tensor& self, const Dims& dims) {
  return kernels::reduced_count(*self, kernels::plan_reduction(*self, dims, false));
}

// Without degrees of freedom, the gradient is nan at the mean and infinite elsewhere.
Tensor without_freedom(const Tensor& gradient, const Tensor& self) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor slopes = where(compare(Comparison::eq, self, mean(self)), full({}, nan, gradient->dtype()),
                              full({}, infinity, gradient->dtype()));
  return mul(gradient, slopes);
}

Tensor variance_gradient(const Tensor& gradient, const Tensor& self, const Spread& spread) {
  const Dims dims = spread.named();
  const double freedom = spread.freedom(count_of(self, dims));
  if (self->dim() == 0 || dims.empty()) {
    if (freedom <= 0) return without_freedom(gradient, self);
    return mul(mul_scalar(gradient, 2.0 / freedom), sub(self, mean(self)));
  }
  const Tensor wide = restored_unless(spread.keepdim, gradient, self->sizes(), dims);
  return mul(mul_scalar(wide, 2.0 / freedom), sub(self, mean(self, dims, true)));
}

Tensor mean_gradient(const Tensor& gradient, const Tensor& self, const Spread& spread) {
  const Dims dims = spread.named();
  const Tensor wide = restored_unless(spread.keepdim, gradient, self->sizes(), dims);
  return div_scalar(expand(wide, self->sizes()), count_of(self, dims));
}

const NodeSpec& var_mean_spec = node_spec("VarMeanBackward0", {saved_number("correction"), saved_number("dim"),
                                                               saved_number("keepdim"), saved_tensor("self")});

// Two outputs: the variance and the mean. Slot: self.
class VarMeanNode final : public SlotNode<1> {
 public:
  explicit VarMeanNode(const Spread& spread) : SlotNode<1>(var_mean_spec), spread_(spread) {}
  SavedValue saved_value(size_t field) const override { return spread_.value(field); }
  TensorList apply(TensorList&& gradients) override {
    if (!gradients[0] && !gradients[1]) return TensorList(1);
    const Tensor self = unpack(0);
    Tensor total;
    if (gradients[0]) total = variance_gradient(gradients[0], self, spread_);
    if (!gradients[1]) return {total};
    const Tensor of_mean = mean_gradient(gradients[1], self, spread_);
    return {total ? add(total, of_mean) : of_mean};
  }

 private:
  Spread spread_;
};

TwoTensors measured_both(const Tensor& a, const Spread& spread) {
  if (operation_watcher() == nullptr) return measure(a, spread);
  TensorList both = ask_watcher("var_mean.correction", a, spread.dims, spread.correction, spread.keepdim);
  require(both.size() == 2, "expected two tensors from __torch_dispatch__, but got ", both.size());
  return {std::move(both[0]), std::move(both[1])};
}

}  // namespace

TwoTensors var_mean(const Tensor& a, const OptionalDims& dims, const Correction& correction, bool keepdim) {
  const Spread spread{dims, correction, keepdim};
  require(is_floating(a->dtype()), "var_mean only support floating point and complex dtypes");
  const auto node = start_recording<VarMeanNode>({&a}, spread);
  if (node) node->save_input(0, a);
  TwoTensors results = measured_both(a, spread);
  if (!node) return results;
  set_history(results.first, node.owner);
  set_history(results.second, node.owner);
  return results;
}

}  // namespace gradlife::ops
