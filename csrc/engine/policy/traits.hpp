// Differences between releases besides the ownership axes: each trait with the releases that have it.
#pragma once

#include "engine/policy/policy.hpp"

namespace gradlife {

// Releases are major * 100 + minor, as in Policy. No profile lies between 1.13 and 2.9, so a change in that range has
// no exact release here.
struct Trait {
  int first;
  int last;
  bool in_oneflow;
};

inline bool has(const Policy& policy, const Trait& trait) {
  if (policy.is_oneflow) return trait.in_oneflow;
  return trait.first <= policy.release && policy.release <= trait.last;
}

// Whether a Function's argument may be None in place of a tensor: in OneFlow since 0.9.
inline bool takes_none_argument(const Policy& policy) { return !policy.is_oneflow || policy.release >= 9; }

namespace traits {

constexpr int oldest = 0, newest = 999;
constexpr Trait since(int first, bool in_oneflow) { return {first, newest, in_oneflow}; }
constexpr Trait until(int last, bool in_oneflow) { return {oldest, last, in_oneflow}; }

// Nodes.
inline constexpr Trait numbers_all_node_names = since(110, false);  // before: ExpBackward, but MulBackward0
inline constexpr Trait shows_saved_values = since(109, true);       // _saved_*
inline constexpr Trait shows_raw_saved = since(110, true);          // _raw_saved_*
inline constexpr Trait has_node_prehooks = since(113, true);
inline constexpr Trait node_hook_may_return_single = until(109, true);
inline constexpr Trait shared_node_shows_hooks = until(113, true);  // since 2.0 only a wrapper that is the sole owner
inline constexpr Trait retained_gradient_moves = since(113, true);  // with its tensor, which is changed in place
inline constexpr Trait one_retains_grad_hook_per_output = since(200, false);
inline constexpr Trait inplace_change_drops_wrapper_hooks = since(200, false);
inline constexpr Trait squeezes_several_dims = since(200, false);  // which has a number of its own
inline constexpr Trait short_operation_names = since(213, false);  // in the error about a changed saved tensor

// Saved tensors.
inline constexpr Trait packs_in_reverse = until(113, false);
inline constexpr Trait saving_reads_node = until(209, false);  // of a view, whose base may have been changed
inline constexpr Trait unpacks_plain_as_is = since(200, true);
inline constexpr Trait stack_saves_tensors = until(110, false);
inline constexpr Trait slot_keeps_input = since(110, true);  // before: its data only
inline constexpr Trait packs_saved_numbers = until(113, false);
inline constexpr Trait view_requires_grad_by_base = until(109, false);
inline constexpr Trait hooked_slot_keeps_accumulator = since(200, false);
inline constexpr Trait saved_tensor_shows_data = since(210, false);
inline constexpr Trait saved_tensor_unpacks = since(213, false);
inline constexpr Trait one_pair_of_default_hooks = {110, 110, false};
inline constexpr Trait asserts_both_hooks = {113, 113, false};      // when none is popped
inline constexpr Trait quotes_errors_of_hooks = until(113, false);  // as a RuntimeError
inline constexpr Trait changed_view_saved_as_output = since(210, false);

// Functions and their contexts.
inline constexpr Trait warns_of_legacy_functions = since(102, false);
inline constexpr Trait legacy_register_hook_text = until(108, true);
inline constexpr Trait none_gradient_is_zero = until(102, false);  // of an input that requires grad; seen by node hooks
inline constexpr Trait refuses_legacy_access = since(109, false);
inline constexpr Trait has_context_name = since(108, true);
inline constexpr Trait has_do_backward = until(108, false);
inline constexpr Trait checks_to_save_first = since(200, false);
inline constexpr Trait forward_may_return_objects = since(109, false);
inline constexpr Trait has_setup_context = since(200, false);
inline constexpr Trait names_what_is_marked = since(214, false);        // in the errors of mark_dirty and the like
inline constexpr Trait leaks_setup_context_result = until(213, false);  // PyTorch issue 188034
inline constexpr Trait refuses_dirty_view_of_leaf = since(200, true);
inline constexpr Trait views_returned_input = since(113, true);  // without gradient; 1.13 also a changed one
inline constexpr Trait views_dirty_input = {113, 113, false};
inline constexpr Trait returned_input_keeps_class = since(200, true);
inline constexpr Trait refuses_dirty_view_of_result = since(208, false);  // before: a warning
inline constexpr Trait has_maybe_clear_saved_tensors = since(209, true);
inline constexpr Trait has_class_flags = since(213, false);  // clear_saved_tensors_on_access, boxed_grads_call

// The garbage collector.
inline constexpr Trait collector_sees_sole_owned_node = since(110, false);
inline constexpr Trait collector_sees_context_hooks = until(208, true);
inline constexpr Trait collector_sees_prehooks = since(200, true);
inline constexpr Trait collector_sees_needs_input_grad = since(213, false);
inline constexpr Trait attributes_cleared_before_resurrection = until(113, false);  // PyTorch issue 75932

// The backward call.
inline constexpr Trait has_backward_worker = until(107, false);  // up to 1.3 a thread ran graphs of the CPU, too
inline constexpr Trait failed_backward_leaves_queue = since(106, false);
inline constexpr Trait accumulates_in_place = since(200, true);
inline constexpr Trait ignores_strides_of_single_elements = since(200, false);
inline constexpr Trait unneeded_root_calls_hooks = since(200, false);  // if there is one root
inline constexpr Trait tensor_hooks_come_first = since(200, true);     // of `inputs` and of undefined gradients, too
inline constexpr Trait drops_unneeded_gradients = since(113, true);    // before hooks see them
inline constexpr Trait numbers_unused_input = since(213, false);       // in the error of grad()
inline constexpr Trait dying_tensor_clears_hooks = until(209, false);
inline constexpr Trait has_anomaly_parents = since(108, false);

// Tensors.
inline constexpr Trait has_torch_function = since(107, false);
inline constexpr Trait warns_of_nonleaf_grad = since(105, false);
inline constexpr Trait warns_of_expanded_change = since(108, false);
inline constexpr Trait warns_of_lost_history = since(209, false);
inline constexpr Trait warns_of_transpose = since(111, false);
inline constexpr Trait warns_of_sequence_index = since(209, false);
inline constexpr Trait recorded_view_owns_source = since(203, false);
inline constexpr Trait assigned_scalar_keeps_graph = since(113, true);  // and its node has another number
inline constexpr Trait assigned_slice_may_be_whole = since(200, true);
inline constexpr Trait product_names_all_types = since(213, false);  // in the error about a matrix and a vector
inline constexpr Trait records_product_of_zeros = since(200, true);  // the gradient of one with several zeros
inline constexpr Trait fill_refuses_overlap = since(200, true);
inline constexpr Trait reshape_is_alias = {110, 113, false};
inline constexpr Trait array_base_is_tensor = {102, 110, false};

}  // namespace traits
}  // namespace gradlife
