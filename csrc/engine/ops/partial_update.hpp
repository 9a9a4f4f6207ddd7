// Operations that change some elements of a tensor or of its copy.
#pragma once

#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/overlap.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {

// A copy has the tensor's memory layout or is contiguous: PyTorch uses both.
enum class Form : uint8_t { in_place, like_copy, plain_copy };

inline void check_form(Form form, std::initializer_list<const Tensor*> inputs) {
  if (form == Form::in_place) check_inplace(**inputs.begin(), needs_graph(inputs));
}

inline Tensor target_for(const Tensor& a, Form form) {
  if (form == Form::in_place) return a;
  Tensor copy = form == Form::like_copy ? kernels::allocate_like(*a, a->dtype()) : empty(a->sizes(), a->dtype());
  kernels::copy(*copy, *a);
  return copy;
}

// Runs `change(target)` and gives the target its history.
template <class T, class Change>
Tensor changed(const Tensor& a, Form form, const Recording<T>& node, Change change) {
  const Tensor target = target_for(a, form);
  change(target);
  if (form == Form::in_place) {
    finish_in_place(target, node);
  } else if (node) {
    set_history(target, node.owner);
  }
  return target;
}

}  // namespace gradlife::ops
