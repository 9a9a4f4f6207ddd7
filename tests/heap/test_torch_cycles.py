"""Cycles through PyTorch's C++ objects: each is shown whole, and said to be what it is.

The rows are those that were measured on PyTorch 2.13: which cycles the collector frees, and which nothing does.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gradlife import _heap
from gradlife.heap import torch as calibration
from gradlife.heap import why
from gradlife.model.trace import Lifetime, Trace

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Build = Callable[[], Any]  # makes a cycle, returns a weak reference to a part of it


class Thing:
    """Takes attributes and weak references."""

    held: Any


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def leaf() -> Any:
    return torch.ones(3, requires_grad=True)


def over(held: Any) -> Callable[..., None]:
    """A hook that holds something."""

    def hook(*_: Any) -> None:
        assert held is not None

    return hook


class Passes(torch.autograd.Function):  # type: ignore[name-defined,misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


class KeepsOutput(torch.autograd.Function):  # type: ignore[name-defined,misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.output = x * 2
        return ctx.output

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


class KeepsView(torch.autograd.Function):  # type: ignore[name-defined,misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        output = x * 2
        ctx.save_for_backward(output.view(-1))
        return output

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


# --- what nothing frees ---


def hook_over_its_own_tensor() -> Any:
    y = leaf().sin()
    y.register_hook(over(y))
    return weakref.ref(y)


def hook_on_a_leaf_over_a_later_output() -> Any:
    x = leaf()
    y = x * 2
    x.register_hook(over(y))
    return weakref.ref(y)


def post_accumulate_hook_over_its_leaf() -> Any:
    x = leaf()
    x.register_post_accumulate_grad_hook(over(x))
    return weakref.ref(x)


def post_accumulate_hook_over_the_output() -> Any:
    x = leaf()
    y = x * 2
    x.register_post_accumulate_grad_hook(over(y))
    return weakref.ref(y)


def node_hook_over_its_output() -> Any:
    y = leaf().sin()
    y.grad_fn.register_hook(over(y))
    return weakref.ref(y)


def node_prehook_over_its_output() -> Any:
    y = leaf().sin()
    y.grad_fn.register_prehook(over(y))
    return weakref.ref(y)


def node_hook_over_a_later_output() -> Any:
    y = leaf().sin()
    z = y.exp()
    y.grad_fn.register_hook(over(z))
    return weakref.ref(z)


def accumulator_hook_over_the_output() -> Any:
    x = leaf()
    y = x.sin()
    y.grad_fn.next_functions[0][0].register_hook(over(y))
    return weakref.ref(y)


def accumulator_hook_over_its_leaf() -> Any:
    x = leaf()
    y = x.sin()
    y.grad_fn.next_functions[0][0].register_hook(over(x))
    x.result = y
    return weakref.ref(x)


def metadata_over_the_output() -> Any:
    y = leaf().sin()
    y.grad_fn.metadata["output"] = y
    return weakref.ref(y)


def ctx_attribute_over_a_later_output() -> Any:
    y = Passes.apply(leaf())
    ctx = y.grad_fn
    z = y * 3
    ctx.later = z
    return weakref.ref(z)


def input_over_the_output_that_saved_it() -> Any:
    x = leaf()
    x.out = x * x
    return weakref.ref(x)


def packed_over_the_output() -> Any:
    box = Thing()
    with torch.autograd.graph.saved_tensors_hooks(lambda _: box, lambda packed: packed):
        y = leaf().exp()
    box.held = y
    return weakref.ref(y)


def unpack_hook_over_the_output() -> Any:
    kept: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.numel(), lambda packed: kept[0]):
        y = leaf().sin()
    kept.append(y)
    return weakref.ref(y)


def pack_that_returns_its_argument() -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        y = leaf().exp()
    return weakref.ref(y)


def hooks_of_one_saved_tensor_over_the_output() -> Any:
    y = leaf().sin()
    y.grad_fn._raw_saved_self.register_hooks(lambda x: (x, y), lambda packed: packed[0])
    return weakref.ref(y)


def gradient_that_refers_to_its_leaf() -> Any:
    x = leaf()
    (x * 2).sum().backward()
    x.grad.owner = x
    return weakref.ref(x)


def backward_that_creates_a_graph() -> Any:
    x = leaf()
    with pytest.warns(UserWarning, match="create a reference cycle"):
        (x**3).sum().backward(create_graph=True)
    return weakref.ref(x)


def base_over_its_view() -> Any:
    x = torch.ones(3)
    x.view_of = x.view(3)
    return weakref.ref(x)


def storage_over_a_tensor_on_it() -> Any:
    x = torch.ones(3)
    x.untyped_storage().tensor = x
    return weakref.ref(x)


def saved_view_of_the_output() -> Any:
    y = KeepsView.apply(leaf())
    y.tag = "so that its wrapper is kept"
    return weakref.ref(y)


NEVER: dict[Build, set[str]] = {
    hook_over_its_own_tensor: {"Tensor", "OrderedDict", "function"},
    hook_on_a_leaf_over_a_later_output: {"MulBackward0", "AccumulateGrad", "function"},
    post_accumulate_hook_over_its_leaf: {"Tensor", "function"},
    post_accumulate_hook_over_the_output: {"MulBackward0", "AccumulateGrad", "function"},
    node_hook_over_its_output: {"Tensor", "SinBackward0", "OrderedDict", "function"},
    node_prehook_over_its_output: {"Tensor", "SinBackward0", "OrderedDict", "function"},
    node_hook_over_a_later_output: {"ExpBackward0", "SinBackward0", "function"},
    accumulator_hook_over_the_output: {"SinBackward0", "AccumulateGrad", "function"},
    accumulator_hook_over_its_leaf: {"Tensor"},
    metadata_over_the_output: {"SinBackward0", "dict"},
    ctx_attribute_over_a_later_output: {"MulBackward0", "PassesBackward"},
    input_over_the_output_that_saved_it: {"MulBackward0", "Tensor"},
    packed_over_the_output: {"ExpBackward0", "Thing"},
    unpack_hook_over_the_output: {"SinBackward0", "function"},
    pack_that_returns_its_argument: {"ExpBackward0", "Tensor"},
    hooks_of_one_saved_tensor_over_the_output: {"SinBackward0", "tuple"},
    gradient_that_refers_to_its_leaf: {"Tensor"},
    backward_that_creates_a_graph: {"Tensor"},
    base_over_its_view: {"Tensor"},
    storage_over_a_tensor_on_it: {"Tensor", "UntypedStorage"},
    saved_view_of_the_output: {"Tensor", "KeepsViewBackward"},
}


def names(trace: Trace) -> set[str]:
    return {step.object for step in trace.cycle}


@pytest.mark.parametrize("build", NEVER, ids=lambda build: build.__name__)
def test_cycle_with_a_leg_in_cpp_is_shown_whole_and_never_freed(build: Build) -> None:
    reference = build()
    trace = why(reference())
    assert trace.lifetime is Lifetime.NEVER
    assert NEVER[build] <= names(trace)
    assert trace.steps == ()
    gc.collect()
    assert reference() is not None


def test_leg_of_a_hook_names_the_node_that_owns_it_too() -> None:
    trace = why(hook_over_its_own_tensor()())
    assert trace.legs == ("OrderedDict is held by SinBackward0, TensorImpl 1 time where the collector does not look",)


# --- what the collector frees ---


def tensor_over_itself() -> Any:
    x = torch.ones(3)
    x.me = x
    return weakref.ref(x)


def ctx_over_its_output() -> Any:
    return weakref.ref(KeepsOutput.apply(leaf()))


def leaf_hook_over_its_leaf() -> Any:
    x = leaf()
    x.register_hook(over(x))
    return weakref.ref(x)


def node_hook_over_its_node() -> Any:
    thing = Thing()
    node = leaf().sin().grad_fn
    thing.held = node
    node.register_hook(over(thing))
    return weakref.ref(thing)


def two_tensors_over_each_other() -> Any:
    x, y = torch.ones(3), torch.ones(3)
    x.y, y.x = y, x
    return weakref.ref(x)


GC: list[Build] = [
    tensor_over_itself,
    ctx_over_its_output,
    leaf_hook_over_its_leaf,
    node_hook_over_its_node,
    two_tensors_over_each_other,
]


@pytest.mark.parametrize("build", GC, ids=lambda build: build.__name__)
def test_cycle_that_the_collector_sees_waits_for_it(build: Build) -> None:
    reference = build()
    trace = why(reference())
    assert trace.lifetime is Lifetime.GC
    assert len(trace.cycle) >= 1
    del trace
    gc.collect()
    assert reference() is None


# --- what a root holds through C++ ---


def test_saved_tensor_of_a_kept_loss_is_named() -> None:
    def step(losses: list[Any]) -> Any:
        hidden = leaf().sin()
        hidden.tag = "of the user"
        losses.append((hidden * hidden).sum())
        return weakref.ref(hidden)

    losses: list[Any] = []
    trace = why(step(losses)())
    assert [step.object for step in trace.steps][1:] == ["list", "Tensor", "SumBackward0", "MulBackward0", "Tensor"]
    assert [step.via for step in trace.steps][:-1] == [
        "local variable 'losses'",
        "[0]",
        "grad_fn",
        "next edge",
        "saved tensor 'other'",
    ]


def test_tensor_saved_for_backward_is_found_behind_its_ctx() -> None:
    class Saves(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    def build() -> tuple[Any, Any]:
        hidden = leaf().sin()
        hidden.tag = "of the user"
        return Saves.apply(hidden).exp(), weakref.ref(hidden)

    kept, reference = build()
    trace = why(reference())
    assert trace.lifetime is Lifetime.HELD
    assert [step.object for step in trace.steps][1:] == ["Tensor", "ExpBackward0", "SavesBackward", "Tensor"]
    del kept


# --- the process is as it was ---


def test_asking_leaves_counts_and_wrappers_alone() -> None:
    x = leaf()
    y = x.sin() * 2
    before = (x._use_count(), y._use_count(), len(gc.get_objects()))
    why(y)
    why(x)
    gc.collect()
    assert (x._use_count(), y._use_count()) == before[:2]
    assert len(gc.get_objects()) <= before[2] + 50


def test_unpack_hooks_are_not_called() -> None:
    calls: list[Any] = []

    def unpack(packed: Any) -> Any:
        calls.append(packed)
        return packed

    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach(), unpack):
        y = leaf().sin()
    why(y)
    assert calls == []


def test_layout_that_does_not_verify_is_said_and_not_followed() -> None:
    y = leaf().sin()
    why(y)  # calibrated
    layout = dict(calibration.find_layout(torch))
    try:
        _heap._set_torch_layout({**layout, "meta_in_impl": layout["storage_in_impl"], "edges_in_node": 8})
        trace = why(y)
        assert trace.lifetime is Lifetime.HELD
    finally:
        _heap._set_torch_layout(layout)


def test_layout_with_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="torch's layout has no 'colour'"):
        _heap._set_torch_layout({"colour": 3})
