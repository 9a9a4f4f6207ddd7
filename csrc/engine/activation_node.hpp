// The shared part of activations with parameters.
//
// An activation F is a struct of its parameters:
//   static const NodeSpec& spec();           value fields first, then "self"
//   static const NodeSpec& backward_spec();  the same value fields (or more of them), then the gradient where
//                                            `second` needs it, then "self"
//   SavedValue value(size_t field) const;
//   T operator()(T x) const;                 the result
//   T pull(T gradient, T x) const;           the gradient that passes through x
//   static constexpr bool is_bent;           whether the derivative of pull by x is more than 0; then also
//   Tensor second(arriving, gradient, self) const;  that derivative times `arriving`
#pragma once

#include "engine/kernels.hpp"
#include "engine/op_node.hpp"
#include "engine/overlap.hpp"

namespace gradlife::ops {

inline bool is_value(const NodeSpec& spec, size_t field) { return spec.fields[field].type == SavedField::Type::value; }

template <class F>
Tensor pull(const F& f, const Tensor& gradient, const Tensor& self);

// Slots: the gradient and the input, or the input alone where nothing of second order comes from it.
template <class F>
class PullNode final : public OpNode<F::is_bent ? 2 : 1> {
 public:
  explicit PullNode(const F& f) : OpNode<F::is_bent ? 2 : 1>(F::backward_spec()), f_(f) {}
  SavedValue saved_value(size_t field) const override { return f_.value(field); }
  static constexpr size_t self_slot = F::is_bent ? 1 : 0;

 protected:
  void differentiate(const Tensor& arriving, TensorList& results) override {
    const Tensor self = this->unpack(self_slot);
    if (this->needs(0)) results[0] = pull(f_, arriving, self);
    if constexpr (F::is_bent) {
      const Tensor gradient = this->unpack(0);
      if (this->needs(1)) results[1] = f_.second(arriving, gradient, self);
    } else if (this->needs(1)) {
      results[1] = zeros_like(arriving);
    }
  }

 private:
  F f_;
};

template <class F>
Tensor pull(const F& f, const Tensor& gradient, const Tensor& self) {
  const auto node = start_recording<PullNode<F>>({&gradient, &self}, f);
  if (node && F::is_bent && needs_graph({&self})) node->save_input(0, gradient);
  if (node) node->save_input(PullNode<F>::self_slot, self);
  Tensor result = kernels::allocate_result(self->sizes(), self->dtype(), {gradient.get(), self.get()});
  kernels::dispatch_floats(result->dtype(), "backward_cpu", [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*result, kernels::Operand<T>(*gradient), kernels::Operand<T>(*self),
                    [f](T g, T x) { return f.pull(g, x); });
  });
  if (node) set_history(result, node.owner);
  return result;
}

template <class F>
class ActivationNode final : public OpNode<1> {
 public:
  using Check = void (*)(const F&);
  // `check`: raises where the gradient can't be told.
  ActivationNode(const NodeSpec& spec, const F& f, Check check = nullptr) : OpNode<1>(spec), f_(f), check_(check) {}
  SavedValue saved_value(size_t field) const override { return f_.value(field); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    if (check_ != nullptr) check_(f_);
    results[0] = pull(f_, gradient, unpack(0));
  }

 private:
  F f_;
  Check check_;
};

template <class F>
void fill_activated(const F& f, const TensorImpl& out, const Tensor& in) {
  kernels::dispatch_floats(out.dtype(), F::name, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(out, kernels::Operand<T>(*in), [f](T x) { return f(x); });
  });
}

template <class F>
Tensor activate(const F& f, const Tensor& a) {
  const auto node = start_recording<ActivationNode<F>>({&a}, F::spec(), f);
  if (node) node->save_input(0, a);
  Tensor result = kernels::allocate_result(a->sizes(), a->dtype(), {a.get()});
  fill_activated(f, *result, a);
  if (node) set_history(result, node.owner);
  return result;
}

// Saves a copy of what the target was.
template <class F>
Tensor activate_in_place(const F& f, const Tensor& target, const NodeSpec& spec = F::spec()) {
  check_inplace(target, needs_graph({&target}));
  const auto node = start_recording<ActivationNode<F>>({&target}, spec, f);
  if (node) node->save_input(0, clone(target));
  refuse_overlap(*target);
  fill_activated(f, *target, target);
  finish_in_place(target, node);
  return target;
}

// Saves its result, from which `f` can tell the gradient as well.
template <class F>
Tensor activate_in_place_by_result(const F& f, const Tensor& target, const NodeSpec& spec, void (*check)(const F&)) {
  check_inplace(target, needs_graph({&target}));
  const auto node = start_recording<ActivationNode<F>>({&target}, spec, f, check);
  refuse_overlap(*target);
  fill_activated(f, *target, target);
  finish_in_place(target, node);
  if (node) node->save_output(0, target, true);
  return target;
}

}  // namespace gradlife::ops
