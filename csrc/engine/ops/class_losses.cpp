// The loss of log-probabilities by class: minus that of the target class.
#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/layers.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

// The reduction of a loss by class, and the class that is ignored.
struct Rule {
  Averaging averaging;
  int64_t ignored;
};

// A batch of rows, its classes and their weights, read without history. One row counts as a batch of one.
class Rows {
 public:
  Rows(G target, G weight, const Rule& rule, int64_t classes) : rule_(rule), classes_(classes) {
    target_ = contiguous(to_dtype(target, DType::int64));
    if (weight) weight_ = contiguous(to_dtype(weight, DType::float64));
  }
  int64_t count() const { return target_->numel(); }
  int64_t classes() const { return classes_; }
  int64_t class_of(int64_t row) const { return target_->data<int64_t>()[row]; }
  bool counts(int64_t row) const { return class_of(row) != rule_.ignored; }
  double weight_of(int64_t row) const {
    if (!counts(row)) return 0;
    return weight_ ? weight_->data<double>()[class_of(row)] : 1;
  }
  double total_weight() const {
    double total = 0;
    for (int64_t row = 0; row < count(); ++row) total += weight_of(row);
    return total;
  }
  void require_classes() const {
    for (int64_t row = 0; row < count(); ++row)
      if (counts(row) && (class_of(row) < 0 || class_of(row) >= classes_))
        fail(ErrorKind::index, "Target ", class_of(row), " is out of bounds.");
  }

 private:
  Rule rule_;
  int64_t classes_;
  Tensor target_;
  Tensor weight_;
};

std::vector<SavedField> fields(bool is_first) {
  std::vector<SavedField> result{saved_number("ignore_index"), saved_number("reduction")};
  if (is_first) result.push_back(saved_tensor("self"));
  result.push_back(saved_tensor("target"));
  result.push_back(saved_tensor("weight"));
  if (is_first) result.push_back(saved_tensor("total_weight"));
  return result;
}
const NodeSpec& loss_spec = node_spec("NllLossBackward0", fields(true));
const NodeSpec& backward_spec = node_spec("NllLossBackwardBackward0", fields(false));

SavedValue saved_of(const Rule& rule, size_t field) {
  return saved(field == 0 ? rule.ignored : static_cast<int64_t>(rule.averaging));
}

// Slots: target, weight. Inputs: the gradient, self.
class BackwardNode final : public OpNode<2> {
 public:
  explicit BackwardNode(const Rule& rule) : OpNode<2>(backward_spec), rule_(rule) {}
  SavedValue saved_value(size_t field) const override { return saved_of(rule_, field); }

 protected:
  void differentiate(G arriving, TensorList& results) override {
    const Tensor target = unpack(0);
    const Tensor weight = unpack(1);
    if (needs(0)) results[0] = nll_loss(arriving, target, weight, rule_.averaging, rule_.ignored);
    if (needs(1)) results[1] = zeros_like(arriving);
  }

 private:
  Rule rule_;
};

Tensor loss_backward(G gradient, G self, G target, G weight, const Rule& rule) {
  const auto node = start_recording<BackwardNode>({&gradient, &self}, rule);
  if (node) node->save_input(0, target);
  if (node && weight) node->save_input(1, weight);
  const Rows rows(target, weight, rule, self->sizes()[self->dim() - 1]);
  const double share = rule.averaging == Averaging::mean ? 1 / rows.total_weight() : 1;
  Tensor result = full(self->sizes(), 0, self->dtype());
  const Tensor each = to_dtype(contiguous(gradient), DType::float64);
  const int64_t step = rule.averaging == Averaging::none && gradient->dim() > 0 ? 1 : 0;
  kernels::dispatch_floats(self->dtype(), "nll_loss_backward_out_frame", [&](auto zero) {
    auto* to = result->data<decltype(zero)>();
    for (int64_t row = 0; row < rows.count(); ++row)
      if (rows.counts(row))
        to[row * rows.classes() + rows.class_of(row)] =
            static_cast<decltype(zero)>(-rows.weight_of(row) * share * each->data<double>()[row * step]);
  });
  if (node) set_history(result, node.owner);
  return result;
}

// Slots: self, target, weight, total_weight.
class LossNode final : public OpNode<4> {
 public:
  explicit LossNode(const Rule& rule) : OpNode<4>(loss_spec), rule_(rule) {}
  SavedValue saved_value(size_t field) const override { return saved_of(rule_, field); }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor self = unpack(0);
    const Tensor target = unpack(1);
    results[0] = loss_backward(gradient, self, target, unpack(2), rule_);
  }

 private:
  Rule rule_;
};

void check_shapes(G self, G target, G weight) {
  require(self->dim() <= 2, "gradlife's engine has nll_loss of one row or of a batch of rows only");
  require(target->dtype() == DType::int64, "expected target dtype to be Long or Byte, but got ",
          kernels::scalar_type_name(target->dtype()));
  require(target->dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  const int64_t classes = self->sizes()[self->dim() - 1];
  if (weight)
    require(weight->dim() == 1 && weight->numel() == classes, "weight tensor should be defined either for all ",
            classes, " classes or no classes but got weight tensor of shape: ", weight->sizes());
}

// Returns the loss of each row.
Tensor each_row(G self, const Rows& rows) {
  Tensor result = empty(self->dim() == 1 ? Dims() : Dims{rows.count()}, self->dtype());
  const Tensor plain = contiguous(self);
  kernels::dispatch_floats(self->dtype(), "nll_loss_out_frame", [&](auto zero) {
    using T = decltype(zero);
    const T* from = plain->data<T>();
    for (int64_t row = 0; row < rows.count(); ++row)
      result->data<T>()[row] =
          rows.counts(row) ? static_cast<T>(-rows.weight_of(row) *
                                            static_cast<double>(from[row * rows.classes() + rows.class_of(row)]))
                           : T(0);
  });
  return result;
}

}  // namespace

Tensor nll_loss(const Tensor& a, const Tensor& target, const Tensor& weight, Averaging averaging, int64_t ignored) {
  check_shapes(a, target, weight);
  const Rule rule{averaging, ignored};
  const auto node = start_recording<LossNode>({&a}, rule);
  const GradMode off(false);
  const Rows rows(target, weight, rule, a->sizes()[a->dim() - 1]);
  rows.require_classes();
  Tensor result = each_row(a, rows);
  const Tensor total = full({}, averaging == Averaging::none ? 0.0 : rows.total_weight(), a->dtype());
  if (averaging != Averaging::none) result = sum(result);
  if (averaging == Averaging::mean) result = div(result, total);
  if (!node) return result;
  set_history(result, node.owner);
  node->save_input(0, a);
  node->save_input(1, target);
  if (weight) node->save_input(2, weight);
  node->save_input(3, total);
  return result;
}

}  // namespace gradlife::ops
