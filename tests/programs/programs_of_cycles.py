"""Cycles through a framework's C++ objects, each made by a function that returns a weak reference to a part of it.

The rows are those that were measured on PyTorch 2.13: which cycles the collector frees, and which nothing does. `fw` is
torch, or the engine under its names.
"""

from __future__ import annotations

import importlib
import warnings
import weakref
from collections.abc import Callable
from typing import Any

Build = Callable[[Any], Any]


class Thing:
    """Takes attributes and weak references."""

    held: Any


def leaf(fw: Any) -> Any:
    return fw.ones(3, requires_grad=True)


def over(held: Any) -> Callable[..., None]:
    """A hook that holds something."""

    def hook(*_: Any) -> None:
        assert held is not None

    return hook


def passes(fw: Any) -> Any:
    class Passes(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    return Passes


def keeps_output(fw: Any) -> Any:
    class KeepsOutput(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.output = x * 2
            return ctx.output

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    return KeepsOutput


def keeps_view(fw: Any) -> Any:
    class KeepsView(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            output = x * 2
            ctx.save_for_backward(output.view(-1))
            return output

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    return KeepsView


def saves_output(fw: Any) -> Any:
    class SavesOutput(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            output = x * 2
            ctx.save_for_backward(output)
            return output

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    return SavesOutput


# --- what nothing frees: hooks of tensors ---


def hook_over_its_own_tensor(fw: Any) -> Any:
    y = leaf(fw).sin()
    y.register_hook(over(y))
    return weakref.ref(y)


def hook_on_a_leaf_over_a_later_output(fw: Any) -> Any:
    x = leaf(fw)
    y = x * 2
    x.register_hook(over(y))
    return weakref.ref(y)


def hook_on_a_middle_tensor_over_a_later_output(fw: Any) -> Any:
    h = leaf(fw).sin()
    y = h * h
    h.register_hook(over(y))
    return weakref.ref(y)


def post_accumulate_hook_over_its_leaf(fw: Any) -> Any:
    x = leaf(fw)
    x.register_post_accumulate_grad_hook(over(x))
    return weakref.ref(x)


def post_accumulate_hook_over_the_output(fw: Any) -> Any:
    x = leaf(fw)
    y = x * 2
    x.register_post_accumulate_grad_hook(over(y))
    return weakref.ref(y)


def hook_for_all_of_several_tensors_over_one(fw: Any) -> Any:
    y, z = leaf(fw).sin(), leaf(fw).exp()
    fw.autograd.graph.register_multi_grad_hook((y, z), over(y), mode="all")
    return weakref.ref(y)


def hook_for_any_of_several_tensors_over_one(fw: Any) -> Any:
    y, z = leaf(fw).sin(), leaf(fw).exp()
    fw.autograd.graph.register_multi_grad_hook((y, z), over(z), mode="any")
    return weakref.ref(z)


# --- hooks of nodes ---


def node_hook_over_its_output(fw: Any) -> Any:
    y = leaf(fw).sin()
    y.grad_fn.register_hook(over(y))
    return weakref.ref(y)


def node_prehook_over_its_output(fw: Any) -> Any:
    y = leaf(fw).sin()
    y.grad_fn.register_prehook(over(y))
    return weakref.ref(y)


def node_hook_over_a_later_output(fw: Any) -> Any:
    y = leaf(fw).sin()
    z = y.exp()
    y.grad_fn.register_hook(over(z))
    return weakref.ref(z)


def node_prehook_over_a_later_output(fw: Any) -> Any:
    y = leaf(fw).sin()
    z = y.exp()
    y.grad_fn.register_prehook(over(z))
    return weakref.ref(z)


def accumulator_hook_over_the_output(fw: Any) -> Any:
    x = leaf(fw)
    y = x.sin()
    y.grad_fn.next_functions[0][0].register_hook(over(y))
    return weakref.ref(y)


def accumulator_hook_over_its_leaf(fw: Any) -> Any:
    x = leaf(fw)
    y = x.sin()
    y.grad_fn.next_functions[0][0].register_hook(over(x))
    x.result = y
    return weakref.ref(x)


def metadata_over_the_node(fw: Any) -> Any:
    node = leaf(fw).sin().grad_fn
    thing = node.metadata["thing"] = Thing()
    thing.held = node
    return weakref.ref(thing)


def metadata_over_the_output(fw: Any) -> Any:
    y = leaf(fw).sin()
    y.grad_fn.metadata["output"] = y
    return weakref.ref(y)


# --- what nodes keep ---


def ctx_attribute_over_a_later_output(fw: Any) -> Any:
    y = passes(fw).apply(leaf(fw))
    ctx = y.grad_fn
    z = y * 3
    ctx.later = z
    return weakref.ref(z)


def input_over_the_output_that_saved_it(fw: Any) -> Any:
    x = leaf(fw)
    x.out = x * x
    return weakref.ref(x)


def input_over_the_output_whose_ctx_saved_it(fw: Any) -> Any:
    class SavesInput(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    x = leaf(fw)
    x.out = SavesInput.apply(x)
    return weakref.ref(x)


def input_over_the_output_that_leads_to_it(fw: Any) -> Any:
    x = leaf(fw)
    x.out = x + 1
    return weakref.ref(x)


def saved_view_of_the_output(fw: Any) -> Any:
    y = keeps_view(fw).apply(leaf(fw))
    y.tag = "so that its wrapper is kept"
    return weakref.ref(y)


def packed_over_the_output(fw: Any) -> Any:
    box = Thing()
    with fw.autograd.graph.saved_tensors_hooks(lambda _: box, lambda packed: packed):
        y = leaf(fw).exp()
    box.held = y
    return weakref.ref(y)


def unpack_hook_over_the_output(fw: Any) -> Any:
    kept: list[Any] = []
    with fw.autograd.graph.saved_tensors_hooks(lambda x: x.numel(), lambda packed: kept[0]):
        y = leaf(fw).sin()
    kept.append(y)
    return weakref.ref(y)


def store_of_what_was_packed_owned_by_unpack(fw: Any) -> Any:
    store: dict[int, Any] = {}

    def pack(x: Any) -> int:
        store[len(store)] = x
        return len(store) - 1

    with fw.autograd.graph.saved_tensors_hooks(pack, lambda key: store[key]):
        y = leaf(fw).exp()
    return weakref.ref(y)


def pack_that_returns_its_argument(fw: Any) -> Any:
    with fw.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        y = leaf(fw).exp()
    return weakref.ref(y)


def hooks_of_one_saved_tensor_over_the_output(fw: Any) -> Any:
    y = leaf(fw).sin()
    y.grad_fn._raw_saved_self.register_hooks(lambda x: (x, y), lambda packed: packed[0])
    return weakref.ref(y)


def checkpoint(fw: Any) -> Any:
    return importlib.import_module(f"{fw.__name__}.utils.checkpoint").checkpoint


def checkpointed_function_over_its_output(fw: Any) -> Any:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        assert kept is not None
        return x.sin().exp()

    y = checkpoint(fw)(function, leaf(fw), use_reentrant=False)
    kept.append(y)
    return weakref.ref(y)


# --- gradients, views, storages ---


def gradient_that_refers_to_its_leaf(fw: Any) -> Any:
    x = leaf(fw)
    (x * 2).sum().backward()
    x.grad.owner = x
    return weakref.ref(x)


def backward_that_creates_a_graph(fw: Any) -> Any:
    x = leaf(fw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that it makes a cycle
        (x**3).sum().backward(create_graph=True)
    return weakref.ref(x)


def base_over_its_view(fw: Any) -> Any:
    x = fw.ones(3)
    x.view_of = x.view(3)
    return weakref.ref(x)


def storage_over_a_tensor_on_it(fw: Any) -> Any:
    x = fw.ones(3)
    x.untyped_storage().tensor = x
    return weakref.ref(x)


# --- what the collector frees ---


def tensor_over_itself(fw: Any) -> Any:
    x = fw.ones(3)
    x.me = x
    return weakref.ref(x)


def tensor_with_slots_over_itself(fw: Any) -> Any:
    class Slotted(fw.Tensor):  # type: ignore[misc]
        __slots__ = ("me",)

    x = fw.ones(3).as_subclass(Slotted)
    x.me = x
    return weakref.ref(x)


def ctx_over_itself(fw: Any) -> Any:
    ctx = passes(fw).apply(leaf(fw)).grad_fn
    ctx.me = ctx
    return weakref.ref(ctx)


def ctx_over_its_output(fw: Any) -> Any:
    return weakref.ref(keeps_output(fw).apply(leaf(fw)))


def leaf_hook_over_its_leaf(fw: Any) -> Any:
    x = leaf(fw)
    x.register_hook(over(x))
    return weakref.ref(x)


def node_hook_over_its_node(fw: Any) -> Any:
    thing = Thing()
    node = leaf(fw).sin().grad_fn
    thing.held = node
    node.register_hook(over(thing))
    return weakref.ref(thing)


def hooks_attributes_over_each_other(fw: Any) -> Any:
    x, y = fw.ones(3), fw.ones(3)
    x._backward_hooks, y._backward_hooks = {0: y}, {0: x}
    return weakref.ref(x)


def two_tensors_over_each_other(fw: Any) -> Any:
    x, y = fw.ones(3), fw.ones(3)
    x.y, y.x = y, x
    return weakref.ref(x)


def two_tensors_over_each_other_with_one_memory(fw: Any) -> Any:
    x, y = fw.ones(3), fw.ones(3)
    x.data = y
    x.y, y.x = y, x
    return weakref.ref(x)


def tensor_changed_in_place_over_itself(fw: Any) -> Any:
    x = leaf(fw) * 2
    x.me = x
    x.add_(1)
    return weakref.ref(x)


def reentrant_checkpoint_over_its_output(fw: Any) -> Any:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        assert kept is not None
        return x.sin().exp()

    y = checkpoint(fw)(function, leaf(fw), use_reentrant=True)
    kept.append(y)
    return weakref.ref(y)


def error_of_a_hook_in_a_local(fw: Any) -> Any:
    y = leaf(fw).sin()

    def fails(_: Any) -> None:
        raise KeyError("boom")

    y.register_hook(fails)
    try:
        y.sum().backward()
    except KeyError as error:
        kept = error
    assert kept.__traceback__ is not None
    return weakref.ref(y)


NEVER: tuple[Build, ...] = (
    hook_over_its_own_tensor,
    hook_on_a_leaf_over_a_later_output,
    hook_on_a_middle_tensor_over_a_later_output,
    post_accumulate_hook_over_its_leaf,
    post_accumulate_hook_over_the_output,
    hook_for_all_of_several_tensors_over_one,
    hook_for_any_of_several_tensors_over_one,
    node_hook_over_its_output,
    node_prehook_over_its_output,
    node_hook_over_a_later_output,
    node_prehook_over_a_later_output,
    accumulator_hook_over_the_output,
    accumulator_hook_over_its_leaf,
    metadata_over_the_node,
    metadata_over_the_output,
    ctx_attribute_over_a_later_output,
    input_over_the_output_that_saved_it,
    input_over_the_output_whose_ctx_saved_it,
    input_over_the_output_that_leads_to_it,
    saved_view_of_the_output,
    packed_over_the_output,
    unpack_hook_over_the_output,
    store_of_what_was_packed_owned_by_unpack,
    pack_that_returns_its_argument,
    hooks_of_one_saved_tensor_over_the_output,
    checkpointed_function_over_its_output,
    gradient_that_refers_to_its_leaf,
    backward_that_creates_a_graph,
    base_over_its_view,
    storage_over_a_tensor_on_it,
)
GC: tuple[Build, ...] = (
    tensor_over_itself,
    tensor_with_slots_over_itself,
    ctx_over_itself,
    ctx_over_its_output,
    leaf_hook_over_its_leaf,
    node_hook_over_its_node,
    hooks_attributes_over_each_other,
    two_tensors_over_each_other,
    two_tensors_over_each_other_with_one_memory,
    tensor_changed_in_place_over_itself,
    reentrant_checkpoint_over_its_output,
    error_of_a_hook_in_a_local,
)
