// Tensors that are seen through another window from now on, in place: their memory stays as it is.
#pragma once

#include "engine/op_node.hpp"

namespace gradlife::ops {

// The rule of a view, for the tensor itself: the same gradient behind a node of another name.
template <class Rule>
struct InPlace : Rule {
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec(Rule::in_place_name, Rule::spec().fields);
    return spec;
  }
};

// Comes before the window is looked for. Errors: the target may not be changed now.
inline void check_seen(const Tensor& target) { check_inplace(target, needs_graph({&target})); }

// No base is asked, whatever it is a view of: a view has this history of its own until its base is changed.
template <class Rule>
Tensor see_through(const Tensor& target, const Tensor& window, Rule rule) {
  const auto node = start_recording<RuleNode<InPlace<Rule>>>({&target}, InPlace<Rule>{std::move(rule)});
  target->set_window(window->sizes(), window->strides(), window->offset());
  target->bump_version();
  if (node) set_history(target, node.owner);
  return target;
}

Tensor transpose_in_place(const Tensor& target, int64_t dim0, int64_t dim1);
Tensor t_in_place(const Tensor& target);
Tensor unsqueeze_in_place(const Tensor& target, int64_t dim);
Tensor squeeze_in_place(const Tensor& target);
Tensor squeeze_in_place(const Tensor& target, int64_t dim);
Tensor squeeze_in_place(const Tensor& target, const Dims& dims);
Tensor as_strided_in_place(const Tensor& target, const Dims& sizes, const Dims& strides, std::optional<int64_t> offset);

}  // namespace gradlife::ops
