// Activations made of straight pieces: leaky_relu, hardtanh, threshold, hardshrink, softshrink.
#include <limits>

#include "engine/activation_node.hpp"
#include "engine/activations.hpp"

namespace gradlife::ops {
namespace {

struct LeakyRelu {
  static constexpr const char* name = "leaky_relu_cpu";
  static constexpr bool is_bent = false;
  Scalar slope;

  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("LeakyReluBackward0", {saved_number("negative_slope"), saved_tensor("self")});
    return spec;
  }
  static const NodeSpec& in_place_spec() {
    static const NodeSpec& spec =
        node_spec("LeakyReluBackward1", {saved_number("negative_slope"), saved_tensor("result")});
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec =
        node_spec("LeakyReluBackwardBackward0", {saved_number("negative_slope"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t) const { return saved(slope); }
  template <class T>
  T operator()(T x) const {
    return x > T(0) ? x : x * slope.to<T>();
  }
  template <class T>
  T pull(T gradient, T x) const {
    return x > T(0) ? gradient : gradient * slope.to<T>();
  }
};

void refuse_negative(const LeakyRelu& f) {
  require(f.slope.to<double>() >= 0,
          "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is "
          "caused by calling in-place forward function with a negative slope, please call out-of-place version "
          "instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place "
          "leakRelu backward calculation with negative slope");
}

struct Hardtanh {
  static constexpr const char* name = "hardtanh_cpu";
  static constexpr bool is_bent = false;
  Scalar low, high;

  static std::vector<SavedField> fields() {
    return {saved_number("max_val"), saved_number("min_val"), saved_tensor("self")};
  }
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("HardtanhBackward0", fields());
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec = node_spec("HardtanhBackwardBackward0", fields());
    return spec;
  }
  SavedValue value(size_t field) const { return saved(field == 0 ? high : low); }
  template <class T>
  T operator()(T x) const {
    return x < low.to<T>() ? low.to<T>() : x > high.to<T>() ? high.to<T>() : x;
  }
  template <class T>
  T pull(T gradient, T x) const {
    return x <= low.to<T>() || x >= high.to<T>() ? T(0) : gradient;
  }
};

// x above the threshold, `instead` elsewhere.
struct Threshold {
  static constexpr const char* name = "threshold_cpu";
  static constexpr bool is_bent = false;
  Scalar threshold, instead;

  static std::vector<SavedField> fields() { return {saved_number("threshold"), saved_tensor("self")}; }
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("ThresholdBackward0", fields());
    return spec;
  }
  static const NodeSpec& in_place_spec() {
    static const NodeSpec& spec = node_spec("ThresholdBackward1", fields());
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec = node_spec("ThresholdBackwardBackward0", fields());
    return spec;
  }
  SavedValue value(size_t) const { return saved(threshold); }
  template <class T>
  T operator()(T x) const {
    return x <= threshold.to<T>() ? instead.to<T>() : x;
  }
  template <class T>
  T pull(T gradient, T x) const {
    return x <= threshold.to<T>() ? T(0) : gradient;
  }
};

// 0 within a width of 0. `is_soft`: what is outside moves towards 0 by the width, so that there is no jump.
template <bool is_soft>
struct Shrink {
  static constexpr const char* name = is_soft ? "softshrink_check" : "hardshrink_cpu";
  static constexpr bool is_bent = false;
  Scalar width;

  static std::vector<SavedField> fields() { return {saved_number("lambd"), saved_tensor("self")}; }
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec(is_soft ? "SoftshrinkBackward0" : "HardshrinkBackward0", fields());
    return spec;
  }
  static const NodeSpec& backward_spec() {
    static const NodeSpec& spec =
        node_spec(is_soft ? "SoftshrinkBackwardBackward0" : "HardshrinkBackwardBackward0", fields());
    return spec;
  }
  SavedValue value(size_t) const { return saved(width); }
  template <class T>
  bool is_inside(T x) const {
    return x >= -width.to<T>() && x <= width.to<T>();
  }
  template <class T>
  T operator()(T x) const {
    if (is_inside(x)) return T(0);
    return !is_soft ? x : x > T(0) ? x - width.to<T>() : x + width.to<T>();
  }
  template <class T>
  T pull(T gradient, T x) const {
    return is_inside(x) ? T(0) : gradient;
  }
};

// Integers pass through where the bounds may be integers too; nothing is recorded for them.
template <class F>
Tensor of_numbers(const F& f, const Tensor& a) {
  if (is_floating(a->dtype())) return activate(f, a);
  Tensor result = kernels::allocate_result(a->sizes(), a->dtype(), {a.get()});
  kernels::dispatch_numbers(a->dtype(), F::name, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*result, kernels::Operand<T>(*a), [f](T x) { return f(x); });
  });
  return result;
}

}  // namespace

Tensor leaky_relu(const Tensor& a, const Scalar& slope) { return activate(LeakyRelu{slope}, a); }
Tensor leaky_relu_in_place(const Tensor& target, const Scalar& slope) {
  return activate_in_place_by_result(LeakyRelu{slope}, target, LeakyRelu::in_place_spec(), refuse_negative);
}
Tensor hardtanh(const Tensor& a, const Scalar& low, const Scalar& high) { return of_numbers(Hardtanh{low, high}, a); }
Tensor hardtanh_in_place(const Tensor& target, const Scalar& low, const Scalar& high) {
  return activate_in_place(Hardtanh{low, high}, target);
}
Tensor threshold(const Tensor& a, const Scalar& threshold, const Scalar& value) {
  return of_numbers(Threshold{threshold, value}, a);
}
Tensor threshold_in_place(const Tensor& target, const Scalar& threshold, const Scalar& value) {
  return activate_in_place(Threshold{threshold, value}, target, Threshold::in_place_spec());
}
Tensor hardshrink(const Tensor& a, const Scalar& width) { return activate(Shrink<false>{width}, a); }
Tensor softshrink(const Tensor& a, const Scalar& width) {
  require(!is_floating(a->dtype()) || width.to<double>() >= 0, "lambda must be in range [0, ",
          a->dtype() == DType::float32 ? "3.40282e+38" : "1.79769e+308", "] for input dtype ",
          kernels::scalar_type_name(a->dtype()), ", but found ", width.to<double>());
  return activate(Shrink<true>{width}, a);
}

}  // namespace gradlife::ops
