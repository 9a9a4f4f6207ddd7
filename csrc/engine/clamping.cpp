// Keeping elements between bounds that are numbers or tensors.
#include <cmath>
#include <limits>

#include "engine/clamping.hpp"
#include "engine/kernels.hpp"
#include "engine/overlap.hpp"
#include "engine/saving_node.hpp"

namespace gradlife::ops {
namespace {

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

// A nan stays one, and a bound that is a nan makes one.
struct AtLeast {
  template <class T>
  T operator()(T x, T low) const {
    return is_nan(x) ? x : is_nan(low) || x < low ? low : x;
  }
};
struct AtMost {
  template <class T>
  T operator()(T x, T high) const {
    return is_nan(x) ? x : is_nan(high) || x > high ? high : x;
  }
};

// PyTorch changes the first one in place, which its version shows.
Tensor both(const Tensor& a, const Tensor& b) {
  Tensor result = logical_and(a, b);
  result->bump_version();
  return result;
}

Tensor kept_where(const Tensor& condition, const Tensor& gradient) {
  return where(condition, gradient, full({}, 0, gradient->dtype()));
}

// --- bounds that are numbers ---

enum class Which : uint8_t { both, min, max };

struct NumberBounds {
  Which which;  // decides the node only
  OptionalNumber min, max;
  static constexpr bool saves_result = false, saves_self = true;
  const NodeSpec& spec() const {
    static const NodeSpec& both =
        node_spec("ClampBackward1", {saved_number("max"), saved_number("min"), saved_tensor("self")});
    static const NodeSpec& only_min = node_spec("ClampMinBackward0", {saved_number("min"), saved_tensor("self")});
    static const NodeSpec& only_max = node_spec("ClampMaxBackward0", {saved_number("max"), saved_tensor("self")});
    return which == Which::both ? both : which == Which::min ? only_min : only_max;
  }
  SavedValue value(size_t field) const {
    return saved(which == Which::both ? (field == 0 ? max : min) : which == Which::min ? min : max);
  }
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor&) const {
    const Tensor above = min ? compare_number(Comparison::ge, self, *min) : Tensor();
    const Tensor below = max ? compare_number(Comparison::le, self, *max) : Tensor();
    return kept_where(above && below ? both(above, below) : above ? above : below, gradient);
  }
};

DType bounded_dtype(const TensorImpl& input, const OptionalNumber& min, const OptionalNumber& max) {
  DType dtype = input.dtype();
  for (const OptionalNumber* bound : {&min, &max})
    if (*bound) dtype = kernels::promote(dtype, kernels::result_dtype(input, **bound));
  return dtype;
}

void bound(const TensorImpl& out, const TensorImpl& in, const OptionalNumber& min, const OptionalNumber& max) {
  const char* kernel = min && max ? "clamp_scalar_cpu" : min ? "clamp_min_scalar_cpu" : "clamp_max_scalar_cpu";
  kernels::dispatch_numbers(out.dtype(), kernel, [&](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    const T low = min ? min->to<T>() : Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    const T high = max ? max->to<T>() : Limits::has_infinity ? Limits::infinity() : Limits::max();
    kernels::map<T>(out, kernels::Operand<T>(in), [=](T x) { return AtMost()(AtLeast()(x, low), high); });
  });
}

void require_bound(bool is_there) { require(is_there, "torch.clamp: At least one of 'min' or 'max' must not be None"); }

// A bound that is a nan makes everything one.
bool is_nan_bound(const OptionalNumber& bound) { return bound && bound->is_real() && std::isnan(bound->real); }

Tensor clamped(Which which, const Tensor& a, const OptionalNumber& min, const OptionalNumber& max) {
  require_bound(min || max);
  return record_saving(a, NumberBounds{which, min, max}, [&] {
    Tensor result = kernels::allocate_result(a->sizes(), bounded_dtype(*a, min, max), {a.get()});
    if (is_nan_bound(min) || is_nan_bound(max)) {
      kernels::fill(*result, std::numeric_limits<double>::quiet_NaN());
    } else {
      bound(*result, *a, min, max);
    }
    return result;
  });
}

Tensor clamped_in_place(Which which, const Tensor& target, const OptionalNumber& min, const OptionalNumber& max) {
  require_bound(min || max);
  const DType dtype = bounded_dtype(*target, min, max);
  require(can_cast(dtype, target->dtype()), "result type ", kernels::scalar_type_name(dtype),
          " can't be cast to the desired output type ", ctype_name(target->dtype()));
  return record_saving_in_place(target, NumberBounds{which, min, max}, [&] {
    refuse_overlap(*target);
    if (is_nan_bound(min) || is_nan_bound(max)) {
      kernels::fill(*target, std::numeric_limits<double>::quiet_NaN());
    } else {
      bound(*target, *target, min, max);
    }
  });
}

// --- bounds that are tensors ---

const NodeSpec& both_spec =
    node_spec("ClampBackward0", {saved_tensor("max"), saved_tensor("min"), saved_tensor("self")});
const NodeSpec& min_spec = node_spec("ClampMinBackward1", {saved_tensor("min"), saved_tensor("self")});
const NodeSpec& max_spec = node_spec("ClampMaxBackward1", {saved_tensor("max"), saved_tensor("self")});

// Inputs: self, min, max. Slots: max, min, self.
class BetweenNode final : public OpNode<3> {
 public:
  BetweenNode() : OpNode<3>(both_spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor max = unpack(0);
    const Tensor min = unpack(1);
    const Tensor self = unpack(2);
    const Tensor above = min ? compare(Comparison::ge, self, min) : Tensor();
    const Tensor below = max ? compare(Comparison::le, self, max) : Tensor();
    if (needs(0)) results[0] = kept_where(above && below ? both(above, below) : above ? above : below, gradient);
    if (needs(1)) results[1] = kept_where(at_min(self, min, max), gradient);
    if (needs(2)) results[2] = kept_where(at_max(self, min, max), gradient);
  }

 private:
  static Tensor at_min(const Tensor& self, const Tensor& min, const Tensor& max) {
    const Tensor under = compare(Comparison::lt, self, min);
    return max ? both(under, compare(Comparison::lt, min, max)) : under;
  }
  // Where the bounds cross, the upper one holds.
  static Tensor at_max(const Tensor& self, const Tensor& min, const Tensor& max) {
    const Tensor over = compare(Comparison::gt, self, max);
    if (!min) return over;
    const Tensor crossed = compare(Comparison::lt, max, min);
    Tensor either = logical_not(logical_and(logical_not(over), logical_not(crossed)));
    either->bump_version();
    return either;
  }
};

// Inputs: self and the bound. Slots: the bound, self.
class OneBoundNode final : public OpNode<2> {
 public:
  explicit OneBoundNode(bool is_min) : OpNode<2>(is_min ? min_spec : max_spec), is_min_(is_min) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor bound = unpack(0);
    const Tensor self = unpack(1);
    if (needs(0)) results[0] = kept_where(compare(is_min_ ? Comparison::ge : Comparison::le, self, bound), gradient);
    if (needs(1)) results[1] = kept_where(compare(is_min_ ? Comparison::lt : Comparison::gt, self, bound), gradient);
  }

 private:
  bool is_min_;
};

Tensor bounded(const Tensor& a, const Tensor& min, const Tensor& max, const Tensor& target) {
  DType dtype = kernels::result_dtype({a.get(), min ? min.get() : max.get(), max ? max.get() : min.get()});
  Dims sizes = a->sizes();
  for (const Tensor* each : {&min, &max})
    if (*each) sizes = kernels::broadcast_sizes(sizes, (*each)->sizes());
  if (target) {
    refuse_overlap(*target);
    for (const Tensor* each : {&min, &max})
      if (*each) refuse_partial_overlap(*target, **each);
    refuse_resize(*target, sizes);
    refuse_cast(dtype, *target);
  }
  Tensor result =
      target && target->dtype() == dtype
          ? target
          : kernels::allocate_result(sizes, dtype, {a.get(), (min ? min : max).get(), (max ? max : min).get()});
  kernels::dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    const kernels::Operand<T> in(*a);
    if (min) kernels::map<T>(*result, in, kernels::Operand<T>(*min), AtLeast());
    if (!max) return;
    const kernels::Operand<T> between(min ? *result : *a);
    kernels::map<T>(*result, between, kernels::Operand<T>(*max), AtMost());
  });
  if (target && result != target) kernels::copy(*target, *result);
  return result;
}

Recording<BetweenNode> record_between(const Tensor& a, const Tensor& saved_self, const Tensor& min, const Tensor& max) {
  const auto node = start_recording<BetweenNode>({&a, &min, &max});
  if (node && max) node->save_input(0, max);
  if (node && min) node->save_input(1, min);
  if (node) node->save_input(2, saved_self);
  return node;
}

Recording<OneBoundNode> record_one(const Tensor& a, const Tensor& saved_self, const Tensor& bound, bool is_min) {
  const auto node = start_recording<OneBoundNode>({&a, &bound}, is_min);
  if (node) node->save_input(0, bound);
  if (node) node->save_input(1, saved_self);
  return node;
}

template <class NodeType>
Tensor finished(Tensor result, const Recording<NodeType>& node) {
  if (node) set_history(result, node.owner);
  return result;
}

template <class NodeType>
Tensor finished_in_place(const Tensor& target, const Recording<NodeType>& node, const Tensor& min, const Tensor& max) {
  bounded(target, min, max, target);
  finish_in_place(target, node);
  return target;
}

Tensor saved_copy(const Tensor& target, bool is_recorded) { return is_recorded ? clone(target) : target; }

}  // namespace

Tensor clamp(const Tensor& a, const OptionalNumber& min, const OptionalNumber& max) {
  return clamped(Which::both, a, min, max);
}
Tensor clamp_min(const Tensor& a, const Scalar& min) { return clamped(Which::min, a, min, std::nullopt); }
Tensor clamp_max(const Tensor& a, const Scalar& max) { return clamped(Which::max, a, std::nullopt, max); }

Tensor clamp_in_place(const Tensor& target, const OptionalNumber& min, const OptionalNumber& max) {
  return clamped_in_place(Which::both, target, min, max);
}
Tensor clamp_min_in_place(const Tensor& target, const Scalar& min) {
  return clamped_in_place(Which::min, target, min, std::nullopt);
}
Tensor clamp_max_in_place(const Tensor& target, const Scalar& max) {
  return clamped_in_place(Which::max, target, std::nullopt, max);
}

Tensor clamp(const Tensor& a, const Tensor& min, const Tensor& max) {
  require_bound(min || max);
  const auto node = record_between(a, a, min, max);
  return finished(bounded(a, min, max, {}), node);
}
Tensor clamp_min(const Tensor& a, const Tensor& min) {
  const auto node = record_one(a, a, min, true);
  return finished(bounded(a, min, {}, {}), node);
}
Tensor clamp_max(const Tensor& a, const Tensor& max) {
  const auto node = record_one(a, a, max, false);
  return finished(bounded(a, {}, max, {}), node);
}

Tensor clamp_in_place(const Tensor& target, const Tensor& min, const Tensor& max) {
  require_bound(min || max);
  const bool is_recorded = needs_graph({&target, &min, &max});
  check_inplace(target, is_recorded);
  return finished_in_place(target, record_between(target, saved_copy(target, is_recorded), min, max), min, max);
}
Tensor clamp_min_in_place(const Tensor& target, const Tensor& min) {
  const bool is_recorded = needs_graph({&target, &min});
  check_inplace(target, is_recorded);
  return finished_in_place(target, record_one(target, saved_copy(target, is_recorded), min, true), min, {});
}
Tensor clamp_max_in_place(const Tensor& target, const Tensor& max) {
  const bool is_recorded = needs_graph({&target, &max});
  check_inplace(target, is_recorded);
  return finished_in_place(target, record_one(target, saved_copy(target, is_recorded), max, false), {}, max);
}

}  // namespace gradlife::ops
