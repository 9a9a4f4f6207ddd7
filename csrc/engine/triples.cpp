// Functions of three tensors: interpolation, and sums with a product or a quotient.
#include <algorithm>

#include "engine/binary.hpp"
#include "engine/elementwise.hpp"
#include "engine/op_node.hpp"
#include "engine/ternary.hpp"

namespace gradlife::ops {
namespace {

using kernels::Place;

using G = const Tensor&;

struct Lerp {
  template <class T>
  T operator()(T a, T end, T weight) const {
    return std::abs(weight) < T(0.5) ? a + weight * (end - a) : end - (end - a) * (T(1) - weight);
  }
};
struct PlusProduct {
  Scalar value;
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(a + value.to<T>() * b * c);
  }
};
struct PlusQuotient {
  Scalar value;
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(a + value.to<T>() * b / c);
  }
};

const NodeSpec& lerp_number_spec = node_spec("LerpBackward0", {saved_number("weight")});
const NodeSpec& lerp_tensor_spec =
    node_spec("LerpBackward1", {saved_tensor("end"), saved_tensor("self"), saved_tensor("weight")});
const NodeSpec& addcmul_spec =
    node_spec("AddcmulBackward0", {saved_tensor("tensor1"), saved_tensor("tensor2"), saved_number("value")});
const NodeSpec& addcdiv_spec =
    node_spec("AddcdivBackward0", {saved_tensor("tensor1"), saved_tensor("tensor2"), saved_number("value")});

class LerpNumberNode final : public OpNode<0> {
 public:
  explicit LerpNumberNode(const Scalar& weight) : OpNode<0>(lerp_number_spec), weight_(weight) {}
  SavedValue saved_value(size_t) const override { return saved(weight_); }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    if (needs(0)) results[0] = mul_scalar(gradient, 1 - weight_.to<double>());
    if (needs(1)) results[1] = mul_scalar(gradient, weight_);
  }

 private:
  Scalar weight_;
};

// Slots: end, self, weight.
class LerpTensorNode final : public OpNode<3> {
 public:
  LerpTensorNode() : OpNode<3>(lerp_tensor_spec) {}
  void save_operands(G self, G end, G weight, bool overwritten = false) {
    if (should_compute_output(2)) save_input(0, end);
    if (should_compute_output(2)) save_input(1, overwritten ? clone(self) : self);
    save_input(2, weight);
  }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor end = unpack(0);
    const Tensor self = unpack(1);
    const Tensor weight = unpack(2);
    if (needs(0)) results[0] = mul(gradient, sub(wrapped_number(1), weight));
    if (needs(1)) results[1] = mul(gradient, weight);
    if (needs(2)) results[2] = mul(gradient, sub(end, self));
  }
};

// Slots: tensor1, tensor2.
class AddcmulNode final : public OpNode<2> {
 public:
  explicit AddcmulNode(const Scalar& value) : OpNode<2>(addcmul_spec), value_(value) {}
  SavedValue saved_value(size_t) const override { return saved(value_); }
  void save_factors(G b, G c) {
    if (should_compute_output(2)) save_input(0, b);
    if (should_compute_output(1)) save_input(1, c);
  }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor first = unpack(0);
    const Tensor second = unpack(1);
    if (needs(0)) results[0] = gradient;
    if (needs(1)) results[1] = mul(gradient, mul_scalar(second, value_));
    if (needs(2)) results[2] = mul(gradient, mul_scalar(first, value_));
  }

 private:
  Scalar value_;
};

// Slots: tensor1, tensor2.
class AddcdivNode final : public OpNode<2> {
 public:
  explicit AddcdivNode(const Scalar& value) : OpNode<2>(addcdiv_spec), value_(value) {}
  SavedValue saved_value(size_t) const override { return saved(value_); }
  void save_factors(G b, G c) {
    if (should_compute_output(2)) save_input(0, b);
    save_input(1, c);
  }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor first = unpack(0);
    const Tensor second = unpack(1);
    if (needs(0)) results[0] = gradient;
    if (needs(1)) results[1] = mul(gradient, div(wrapped_number(value_), second));
    if (needs(2)) results[2] = mul(neg(gradient), div(mul_scalar(first, value_), mul(second, second)));
  }

 private:
  Scalar value_;
};

const char* c_type_name(DType dtype) {
  static constexpr const char* names[] = {
      "float", "double", "long int", "bool", "int", "c10::complex<float>", "c10::complex<double>"};
  return names[static_cast<size_t>(dtype)];
}

void require_dtype(G self, G other, const char* name) {
  require(self->dtype() == other->dtype(), "expected dtype ", c_type_name(self->dtype()), " for `", name,
          "` but got dtype ", c_type_name(other->dtype()));
}

template <class Weight>
Tensor interpolated(G a, G end, const Weight& weight, const char* kernel, Place place) {
  require_dtype(a, end, "end");
  if (!is_floating(a->dtype()))
    fail(ErrorKind::not_implemented, "\"", kernel, "\" not implemented for '", kernels::scalar_type_name(a->dtype()),
         "'");
  return kernels::compute(a, end, weight, a->dtype(), kernel, Lerp(), place);
}

Tensor interpolated_by(G a, G end, const Scalar& weight, Place place = Place::elsewhere) {
  return interpolated(a, end, wrapped_number(weight), "lerp_kernel_scalar", place);
}

Tensor interpolated_by(G a, G end, G weight, Place place = Place::elsewhere) {
  if (weight->dim() > 0) require_dtype(a, weight, "weight");
  return interpolated(a, end, weight, "lerp_kernel_tensor", place);
}

Tensor product_sum(G a, G b, G c, const Scalar& value, Place place = Place::elsewhere) {
  const DType dtype = kernels::result_dtype({a.get(), b.get(), c.get()});
  return kernels::compute(a, b, c, dtype, "addcmul_cpu_out", PlusProduct{value}, place);
}

Tensor quotient_sum(G a, G b, G c, const Scalar& value, Place place = Place::elsewhere) {
  require(is_floating(b->dtype()) || is_floating(c->dtype()),
          "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
          "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
          "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
          "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * "
          "tensor1 / tensor2), for all dtypes.");
  const DType dtype = kernels::result_dtype({a.get(), b.get(), c.get()});
  return kernels::compute(a, b, c, dtype, "addcdiv_cpu_out", PlusQuotient{value}, place);
}

Tensor with_history(Tensor result, const NodePtr& node) {
  if (node) set_history(result, node);
  return result;
}

void check_target(G target, std::initializer_list<const Tensor*> sources) {
  refuse_overlap(*target);
  Dims sizes = target->sizes();
  DType dtype = target->dtype();
  for (const Tensor* source : sources) {
    refuse_partial_overlap(*target, **source);
    sizes = kernels::broadcast_sizes(sizes, (*source)->sizes());
    dtype = kernels::result_dtype({target.get(), source->get()});
    refuse_cast(dtype, *target);
  }
  refuse_resize(*target, sizes);
}

template <class T>
Tensor stored(G target, G result, const Recording<T>& node) {
  if (result != target) kernels::copy(*target, *result);
  finish_in_place(target, node);
  return target;
}

}  // namespace

Tensor lerp(const Tensor& a, const Tensor& end, const Scalar& weight) {
  const auto node = start_recording<LerpNumberNode>({&a, &end}, weight);
  return with_history(interpolated_by(a, end, weight), node.owner);
}

Tensor lerp(const Tensor& a, const Tensor& end, const Tensor& weight) {
  const auto node = start_recording<LerpTensorNode>({&a, &end, &weight});
  if (node) node->save_operands(a, end, weight);
  return with_history(interpolated_by(a, end, weight), node.owner);
}

Tensor addcmul(const Tensor& a, const Tensor& b, const Tensor& c, const Scalar& value) {
  const auto node = start_recording<AddcmulNode>({&a, &b, &c}, value);
  if (node) node->save_factors(b, c);
  return with_history(product_sum(a, b, c, value), node.owner);
}

Tensor addcdiv(const Tensor& a, const Tensor& b, const Tensor& c, const Scalar& value) {
  const auto node = start_recording<AddcdivNode>({&a, &b, &c}, value);
  if (node) node->save_factors(b, c);
  return with_history(quotient_sum(a, b, c, value), node.owner);
}

Tensor lerp_in_place(const Tensor& target, const Tensor& end, const Scalar& weight) {
  check_inplace(target, needs_graph({&target, &end}));
  const auto node = start_recording<LerpNumberNode>({&target, &end}, weight);
  check_target(target, {&end});
  return stored(target, interpolated_by(target, end, weight, Place::first), node);
}

Tensor lerp_in_place(const Tensor& target, const Tensor& end, const Tensor& weight) {
  check_inplace(target, needs_graph({&target, &end, &weight}));
  const auto node = start_recording<LerpTensorNode>({&target, &end, &weight});
  if (node) node->save_operands(target, end, weight, true);
  check_target(target, {&end, &weight});
  return stored(target, interpolated_by(target, end, weight, Place::first), node);
}

Tensor addcmul_in_place(const Tensor& target, const Tensor& b, const Tensor& c, const Scalar& value) {
  check_inplace(target, needs_graph({&target, &b, &c}));
  const auto node = start_recording<AddcmulNode>({&target, &b, &c}, value);
  if (node) node->save_factors(b, c);
  check_target(target, {&b, &c});
  return stored(target, product_sum(target, b, c, value, Place::first), node);
}

Tensor addcdiv_in_place(const Tensor& target, const Tensor& b, const Tensor& c, const Scalar& value) {
  check_inplace(target, needs_graph({&target, &b, &c}));
  const auto node = start_recording<AddcdivNode>({&target, &b, &c}, value);
  if (node) node->save_factors(b, c);
  check_target(target, {&b, &c});
  return stored(target, quotient_sum(target, b, c, value, Place::first), node);
}

}  // namespace gradlife::ops
