// Texts of PyTorch's errors and warnings that differ between releases.
#pragma once

#include "engine/policy/traits.hpp"

namespace gradlife {

// `later` if the release has the trait, otherwise `earlier`.
struct ReleaseText {
  Trait trait;
  const char* later;
  const char* earlier;
};

inline const char* text_for(const Policy& policy, const ReleaseText& text) {
  return has(policy, text.trait) ? text.later : text.earlier;
}

namespace texts {

inline constexpr ReleaseText callable = {traits::since(200, false), "collections.abc.Callable", "function"};
inline constexpr ReleaseText push_hooks = {traits::since(113, false), "push", "register"};
inline constexpr ReleaseText hyphen = {traits::since(209, false), "\u2011", "-"};
inline constexpr ReleaseText and_complex = {traits::since(106, false), "and complex ", ""};
inline constexpr ReleaseText undefined_tensor = {
    traits::since(113, false), "Expected a proper Tensor but got None (or an undefined Tensor in C++)",
    "Expected a Tensor of type Variable but found an undefined Tensor"};
inline constexpr ReleaseText unconverted_argument = {
    traits::since(113, false),
    "Unable to convert call argument to Python object (#define PYBIND11_DETAILED_ERROR_MESSAGES or ",
    "make_tuple(): unable to convert arguments to Python object ("};
inline constexpr ReleaseText forward_result = {traits::since(108, true), "Tensor or tuple of Tensor", "Variable"};
inline constexpr ReleaseText tensor_of_hooks = {traits::since(109, true), "Tensor", "variable"};
inline constexpr ReleaseText an_input = {traits::since(213, false), "An input", "A input"};
inline constexpr ReleaseText check_nan = {traits::since(213, false), ", check_nan=False", ""};
inline constexpr ReleaseText leaf_changed = {
    traits::since(108, false), "a leaf Variable that requires grad is being used in an in-place operation.",
    "a leaf Variable that requires grad has been used in an in-place operation."};
inline constexpr ReleaseText dirty_is_no_input = {
    traits::since(208, false),
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty().",
    "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need to pass it "
    "to mark_dirty()."};
inline constexpr ReleaseText cannot = {traits::since(213, false), "cannot", "can not"};
inline constexpr ReleaseText freed_before_1_9 = {
    traits::since(108, true),
    "Trying to backward through the graph a second time, but the saved intermediate results have already been freed. "
    "Specify retain_graph=True when calling .backward() or autograd.grad() the first time.",
    "Trying to backward through the graph a second time, but the buffers have already been freed. Specify "
    "retain_graph=True when calling backward the first time."};
inline constexpr ReleaseText freed = {
    traits::since(110, true),
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward.",
    "Trying to backward through the graph a second time (or directly access saved variables after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "variables after calling backward."};

}  // namespace texts
}  // namespace gradlife
