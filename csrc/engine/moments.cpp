// Variances and standard deviations, alone and together with the mean.
#include <cmath>
#include <limits>

#include "engine/indexing.hpp"
#include "engine/reduction_ops.hpp"
#include "engine/rows.hpp"
#include "engine/saving_node.hpp"

namespace gradlife::ops {
namespace {

// What is reduced, and by what the sum of squares is divided.
struct Spread {
  OptionalDims dims;
  Correction correction;
  bool keepdim;

  Dims named() const { return dims ? *dims : Dims(); }
  double freedom(int64_t count) const {
    return static_cast<double>(count) - (correction ? correction->to<double>() : 1);
  }
  // Of a node's fields `correction`, `dim`, `keepdim`.
  SavedValue value(size_t field) const {
    return field == 0 ? saved(correction) : field == 1 ? saved(dims) : saved(keepdim);
  }
};

// In doubles, as the distances are small against the elements.
template <class T>
double row_variance(const T* row, int64_t length, double freedom, double* mean) {
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += row[i];
  *mean = sum / static_cast<double>(length);
  double squares = 0;
  for (int64_t i = 0; i < length; ++i) squares += (row[i] - *mean) * (row[i] - *mean);
  return length == 0 ? std::numeric_limits<double>::quiet_NaN() : squares / std::max(freedom, 0.0);
}

TwoTensors measure(const Tensor& a, const Spread& spread, bool takes_root) {
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
      variance->data<T>()[i] = static_cast<T>(takes_root ? std::sqrt(found) : found);
      mean->data<T>()[i] = static_cast<T>(middle);
    }
  });
  return {variance, mean};
}

int64_t count_of(const Tensor& self, const Dims& dims) {
  return kernels::reduced_count(*self, kernels::plan_reduction(*self, dims, false));
}

// Where there is no freedom left the gradient of all is nan at the mean and infinite elsewhere.
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

// The root's slope at 0 counts as 0.
Tensor deviation_gradient(const Tensor& gradient, const Tensor& self, const Tensor& result, const Spread& spread) {
  const Tensor at_zero = compare_number(Comparison::eq, result, 0);
  const Tensor slope = masked_fill(div(gradient, mul_scalar(result, 2)), at_zero, Scalar(0), Form::in_place);
  return variance_gradient(slope, self, spread);
}

Tensor mean_gradient(const Tensor& gradient, const Tensor& self, const Spread& spread) {
  const Dims dims = spread.named();
  const Tensor wide = restored_unless(spread.keepdim, gradient, self->sizes(), dims);
  return div_scalar(expand(wide, self->sizes()), count_of(self, dims));
}

struct Variance {
  Spread spread;
  static constexpr bool saves_result = false, saves_self = true;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("VarBackward0", {saved_number("correction"), saved_number("dim"),
                                                             saved_number("keepdim"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t field) const { return spread.value(field); }
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor&) const {
    return variance_gradient(gradient, self, spread);
  }
};

struct Deviation {
  Spread spread;
  static constexpr bool saves_result = true, saves_self = true;
  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("StdBackward0", {saved_number("correction"), saved_number("dim"), saved_number("keepdim"),
                                   saved_tensor("result"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t field) const { return spread.value(field); }
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor& result) const {
    return deviation_gradient(gradient, self, result, spread);
  }
};

const NodeSpec& var_mean_spec = node_spec("VarMeanBackward0", {saved_number("correction"), saved_number("dim"),
                                                               saved_number("keepdim"), saved_tensor("self")});
const NodeSpec& std_mean_spec =
    node_spec("StdMeanBackward0", {saved_number("correction"), saved_number("dim"), saved_number("keepdim"),
                                   saved_tensor("result0"), saved_tensor("self")});

// Two outputs: the spread and the mean. Slots: self, or result0 and self.
template <bool is_deviation>
class WithMean final : public SlotNode<is_deviation ? 2 : 1> {
 public:
  static constexpr size_t self_slot = is_deviation ? 1 : 0;
  explicit WithMean(const Spread& spread)
      : SlotNode<is_deviation ? 2 : 1>(is_deviation ? std_mean_spec : var_mean_spec), spread_(spread) {}
  SavedValue saved_value(size_t field) const override { return spread_.value(field); }
  TensorList apply(TensorList&& gradients) override {
    if (!gradients[0] && !gradients[1]) return TensorList(1);
    const Tensor self = this->unpack(self_slot);
    Tensor total;
    if (gradients[0])
      total = is_deviation ? deviation_gradient(gradients[0], self, this->unpack(0), spread_)
                           : variance_gradient(gradients[0], self, spread_);
    if (!gradients[1]) return {total};
    const Tensor of_mean = mean_gradient(gradients[1], self, spread_);
    return {total ? add(total, of_mean) : of_mean};
  }

 private:
  Spread spread_;
};

TwoTensors measured_both(const Tensor& a, const Spread& spread, bool is_deviation) {
  if (operation_watcher() == nullptr) return measure(a, spread, is_deviation);
  const char* name = is_deviation ? "std_mean.correction" : "var_mean.correction";
  TensorList both = answered(name, a, spread.dims, spread.correction, spread.keepdim);
  require(both.size() == 2, "expected two tensors from __torch_dispatch__, but got ", both.size());
  return {std::move(both[0]), std::move(both[1])};
}

template <bool is_deviation>
TwoTensors spread_and_mean(const Tensor& a, const Spread& spread) {
  using SpreadNode = WithMean<is_deviation>;
  require(is_floating(a->dtype()), is_deviation ? "std_mean" : "var_mean",
          " only support floating point and complex dtypes");
  const auto node = start_recording<SpreadNode>({&a}, spread);
  if (node) node->save_input(SpreadNode::self_slot, a);
  const TwoTensors results = measured_both(a, spread, is_deviation);
  if (!node) return results;
  set_history(results.first, node.owner);
  set_history(results.second, node.owner);
  if (is_deviation) node->save_output(0, results.first);
  return results;
}

void refuse_integers(const TensorImpl& a) {
  require(is_floating(a.dtype()), "std and var only support floating point and complex dtypes");
}

// Of all elements at once PyTorch writes the result, after a sum of them.
Tensor measured(const Tensor& a, const Spread& spread, bool takes_root) {
  const Tensor found = measure(a, spread, takes_root).first;
  const Dims dims = spread.named();
  if (!dims.empty() && dims.size() < a->dim()) return found;
  refuse_out_form(a, "sum");
  return written(found, a);
}

}  // namespace

Tensor var(const Tensor& a, const OptionalDims& dims, const Correction& correction, bool keepdim) {
  refuse_integers(*a);
  const Spread spread{dims, correction, keepdim};
  return record_saving(a, Variance{spread}, [&] { return measured(a, spread, false); });
}

Tensor std(const Tensor& a, const OptionalDims& dims, const Correction& correction, bool keepdim) {
  refuse_integers(*a);
  const Spread spread{dims, correction, keepdim};
  return record_saving(a, Deviation{spread}, [&] { return measured(a, spread, true); });
}

TwoTensors var_mean(const Tensor& a, const OptionalDims& dims, const Correction& correction, bool keepdim) {
  return spread_and_mean<false>(a, {dims, correction, keepdim});
}

TwoTensors std_mean(const Tensor& a, const OptionalDims& dims, const Correction& correction, bool keepdim) {
  return spread_and_mean<true>(a, {dims, correction, keepdim});
}

}  // namespace gradlife::ops
