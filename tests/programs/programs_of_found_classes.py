"""Programs of the fuzzer with subclasses of Tensor, setup_context and several outputs of one node."""

from __future__ import annotations

from functools import partial
from typing import Any

from programs_tools import attempt, function, programs_in, vector


def classes(framework: Any) -> list[Any]:
    """Plain, a subclass, and one that is not asked."""
    disabled = {"__torch_function__": framework._C._disabled_torch_function_impl}
    return [framework.Tensor, type("Sub", (framework.Tensor,), {}), type("Off", (framework.Tensor,), disabled)]


def names_behind(node: Any) -> list[str]:
    found = []
    while node is not None:
        found.append(node.name().replace("torch::autograd::", ""))
        node = node.next_functions[0][0] if node.next_functions else None
    return found


def node_of_a_leaf_is_read_from_behind_a_view_of_it(fw: Any) -> Any:
    leaves = [fw.tensor([1.0, 2.0]).as_subclass(cls).requires_grad_() for cls in classes(fw)]
    return [names_behind(fw.autograd.graph.get_gradient_edge(leaf).node) for leaf in leaves]


def hooks_on_several_read_whether_each_requires_grad_first(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    given: list[Any] = [(None,), (x, None), (x.detach(), None), ((x,),), (x, (x * 2,))]
    register = fw.autograd.graph.register_multi_grad_hook
    return [attempt(partial(register, tensors, print)) for tensors in given]


def input_returned_as_is_and_saved_by_setup_context(fw: Any) -> Any:
    class PassOn(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x: Any) -> Any:
            return x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

    seen = []
    for cls in classes(fw):
        leaf = fw.tensor([1.0, 2.0]).as_subclass(cls).requires_grad_()
        for enabled in (True, False):
            with fw.set_grad_enabled(enabled):
                seen += [attempt(partial(PassOn.apply, x)) for x in (leaf, leaf.detach())]
    return seen


def hook_that_retains_a_gradient_is_looked_for_by_number(fw: Any) -> Any:
    two = function(fw, lambda ctx, x: (x * 2, x * 3), lambda ctx, one, other: one * 2 + other * 3)
    seen = []
    for retaining, changed in (((0,), 0), ((1,), 1), ((0, 1), 1), ((0, 1), 0)):
        outputs = two.apply(vector(fw, 1.0, 2.0))
        for number in retaining:
            outputs[number].retain_grad()
        error = attempt(partial(outputs[changed].mul_, 2))
        (outputs[0].sum() + 5 * outputs[1].sum()).backward()
        gradients = [None if outputs[number].grad is None else outputs[number].grad.tolist() for number in (0, 1)]
        seen.append((error.split(" at ")[0], gradients))
    return seen


PROGRAMS = programs_in(globals())
