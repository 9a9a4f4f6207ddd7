"""When a custom Function's context goes, under each release: with its last name, at a collection, or never.

The tables are what was measured on the releases themselves.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch
from leftovers import leaves
from lifetimes import (
    EVERY_PROFILE,
    RELEASES,
    Watched,
    apply_and_watch,
    collector_off,
    doubling,
    keep_output,
    leaf,
    save_input,
    save_output,
    verdict,
)
from python_versions import count_references

pytestmark = pytest.mark.valgrind

every_profile = pytest.mark.parametrize("profile", EVERY_PROFILE)
every_release = pytest.mark.parametrize("profile", RELEASES)
with_and_without_backward = pytest.mark.parametrize("runs_backward", [False, True])


def context_verdict(profile: str, function: Any, runs_backward: bool = False) -> str:
    with torch.profile(profile):
        return verdict(lambda: apply_and_watch(function, runs_backward))


@every_profile
@with_and_without_backward
def test_plain_context_goes_with_its_output(profile: str, runs_backward: bool) -> None:
    assert context_verdict(profile, doubling(), runs_backward) == "del"


@every_profile
@with_and_without_backward
def test_context_that_keeps_its_input_goes_with_its_output(profile: str, runs_backward: bool) -> None:
    def keep_input(ctx: Any, x: Any, y: Any) -> None:
        ctx.x = x

    assert context_verdict(profile, doubling(keep_input), runs_backward) == "del"


@every_release
@with_and_without_backward
def test_context_with_a_saved_input_goes_with_its_output(profile: str, runs_backward: bool) -> None:
    assert context_verdict(profile, doubling(save_input), runs_backward) == "del"


@every_profile
@with_and_without_backward
def test_context_that_keeps_a_detached_output_goes_with_its_output(profile: str, runs_backward: bool) -> None:
    def keep_detached(ctx: Any, x: Any, y: Any) -> None:
        ctx.y = y.detach()

    assert context_verdict(profile, doubling(keep_detached), runs_backward) == "del"


# A kept output closes a cycle; what nobody sees through stays, with the graph behind it: output, leaf and their
# storages, the Function's node and the leaf's accumulator, the context.
LOST = {"tensor": 2, "storage": 2, "node": 2, "context": 1}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        pytest.param("torch-1.1", "never", marks=leaves(**LOST, block=1)),
        pytest.param("torch-1.2", "never", marks=leaves(**LOST)),
        ("torch-1.10", "gc"),
        ("torch-2.13", "gc"),
        pytest.param("oneflow-0.8", "never", marks=leaves(**LOST)),
        pytest.param("oneflow-0.9", "never", marks=leaves(**LOST)),
    ],
)
def test_output_kept_on_context_waits_for_a_collector_that_sees_the_cycle(profile: str, expected: str) -> None:
    assert context_verdict(profile, doubling(keep_output)) == expected


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        # the leaf's gradient, too, is lost with the leaf
        pytest.param("torch-1.1", "never", marks=leaves(**{**LOST, "tensor": 3, "storage": 3}, block=1)),
        pytest.param("torch-1.2", "never", marks=leaves(**{**LOST, "tensor": 3, "storage": 3})),
        ("torch-1.10", "gc"),
        ("torch-2.13", "gc"),
    ],
)
def test_output_kept_on_ctx_survives_backward(profile: str, expected: str) -> None:
    assert context_verdict(profile, doubling(keep_output), runs_backward=True) == expected


@every_profile
def test_output_kept_on_context_and_let_go_in_backward_closes_no_cycle(profile: str) -> None:
    def let_go(ctx: Any) -> None:
        ctx.y = None

    assert context_verdict(profile, doubling(keep_output, let_go), runs_backward=True) == "del"


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        *((release, "del") for release in RELEASES),
        pytest.param("oneflow-0.8", "never", marks=leaves(**LOST, saved=1)),
        pytest.param("oneflow-0.9", "never", marks=leaves(**LOST, saved=1)),
    ],
)
def test_saved_output_closes_no_cycle_unless_the_slot_owns_it(profile: str, expected: str) -> None:
    assert context_verdict(profile, doubling(save_output)) == expected


@pytest.mark.parametrize("profile", ["oneflow-0.8", "oneflow-0.9"])
@pytest.mark.parametrize("save", [save_input, save_output])
def test_backward_drops_a_context_of_oneflow_that_saved_something(profile: str, save: Any) -> None:
    function = doubling(save)
    with torch.profile(profile), collector_off():
        y = function.apply(leaf())
        assert function.context() is not None
        y.sum().backward()
        assert function.context() is None


@every_release
def test_saved_output_is_let_go_by_backward_everywhere(profile: str) -> None:
    assert context_verdict(profile, doubling(save_output), runs_backward=True) == "del"


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("torch-1.1", "del"),
        ("torch-1.2", "del"),
        # the view keeps its base, the output: one more tensor
        pytest.param("torch-1.10", "never", marks=leaves(**{**LOST, "tensor": 3}, saved=1)),
        pytest.param("torch-2.13", "never", marks=leaves(**{**LOST, "tensor": 3}, saved=1)),
    ],
)
def test_saved_view_of_output_is_lost_since_slots_keep_the_tensor_itself(profile: str, expected: str) -> None:
    def save_view(ctx: Any, x: Any, y: Any) -> None:
        ctx.save_for_backward(y.view(-1))

    assert context_verdict(profile, doubling(save_view)) == expected


# Accumulator, copy, view, the Function's node, CopySlices over it and the view's new node; the leaf, the copy, what was
# saved (from 1.10 on the view itself, before its data), and the scalar that the copy saved.
LOST_VIEW = {"storage": 3, "node": 6, "context": 1, "saved": 2}


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param("torch-1.1", marks=leaves(**LOST_VIEW, tensor=3, block=1)),
        pytest.param("torch-1.2", marks=leaves(**LOST_VIEW, tensor=3)),
        pytest.param("torch-1.10", marks=leaves(**LOST_VIEW, tensor=4)),
    ],
)
def test_dirty_view_that_is_saved_was_lost_before_2_10(profile: str) -> None:
    assert dirty_view_verdict(profile) == "never"


def test_dirty_view_that_is_saved_goes_with_its_output_now() -> None:
    assert dirty_view_verdict("torch-2.13") == "del"


@every_release
def test_gradient_of_a_dirty_view_passes_through_the_function(profile: str) -> None:
    class DoubleInPlace(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x.mul_(2))
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 10

    with torch.profile(profile):
        x = leaf()
        base = x * 1
        DoubleInPlace.apply(base[:1]).sum().backward(retain_graph=True)
        assert x.grad.tolist() == [10.0, 0.0]
        x.grad = None
        base.sum().backward()
        assert x.grad.tolist() == [10.0, 1.0]


def dirty_view_verdict(profile: str) -> str:
    contexts: list[Any] = []

    class AddOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            contexts.append(weakref.ref(ctx))
            x.add_(1)
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    def build() -> Watched:
        y = AddOne.apply((leaf() * 1)[:1])
        return y, contexts.pop()

    with torch.profile(profile):
        return verdict(build)


@every_release
def test_context_lives_exactly_as_long_as_the_graph_behind_the_last_result(profile: str) -> None:
    with torch.profile(profile), collector_off():
        y = doubling().apply(leaf())
        context = weakref.ref(y.grad_fn)
        z = y * 3
        del y
        s = z.sum()
        del z
        assert context() is not None
        s.backward()
        assert context() is not None
        del s
        assert context() is None


@every_release
def test_backward_frees_what_was_saved_but_not_what_hangs_on_the_context(profile: str) -> None:
    def keep_both(ctx: Any, x: Any, y: Any) -> None:
        ctx.attribute = x.detach() + 1
        saved = x.detach() + 2
        alive.extend([weakref.ref(ctx.attribute), weakref.ref(saved)])
        ctx.save_for_backward(saved)

    alive: list[Any] = []
    with torch.profile(profile), collector_off():
        y = doubling(keep_both).apply(leaf())
        assert alive[0]() is not None
        before = torch.live_counts()["saved"]
        y.sum().backward()
        assert torch.live_counts()["saved"] == before - 1
        assert alive[0]() is not None
        assert alive[1]() is None
        del y
        assert alive[0]() is None


@every_release
def test_second_backward_of_a_function_that_reads_nothing_saved_is_no_error(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        y = doubling(save_input).apply(x)
        y.sum().backward()
        y.sum().backward()
        assert x.grad.tolist() == [4.0, 4.0]


@every_release
def test_context_is_the_grad_fn_and_the_next_function_of_what_follows(profile: str) -> None:
    contexts: list[Any] = []
    with torch.profile(profile):
        y = doubling(lambda ctx, x, y: contexts.append(weakref.ref(ctx))).apply(leaf())
        assert contexts[0]() is y.grad_fn
        assert y.grad_fn is y.grad_fn
        assert (y * 3).grad_fn.next_functions[0][0] is y.grad_fn
        y.grad_fn.note = 1
        assert y.grad_fn.note == 1
        assert type(y.grad_fn).__name__ == "FBackward"
        assert [base.__name__ for base in type(y.grad_fn).__mro__[:3]] == [
            "FBackward",
            "BackwardCFunction",
            "_FunctionBase",
        ]


@every_release
def test_context_held_by_its_graph_and_one_name_has_one_reference_more_than_the_name(profile: str) -> None:
    with torch.profile(profile):
        y = doubling().apply(leaf())
        context = y.grad_fn
        assert count_references(context) == 2
        del y
        assert count_references(context) == 1


@every_release
def test_collector_leaves_a_context_that_only_the_graph_holds(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        s = (doubling(save_input).apply(x) * 3).sum()
        gc.collect()
        s.backward()
        assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize(
    "cut",
    [lambda y: y.grad_fn.__dict__.clear(), lambda y: setattr(y.grad_fn, "y", None), lambda y: y.detach_()],
    ids=["clear the dict", "set it to None", "detach in place"],
)
@every_release
def test_kept_output_is_freed_by_cutting_the_cycle_by_hand(profile: str, cut: Callable[[Any], None]) -> None:
    with torch.profile(profile), collector_off():
        y = doubling(keep_output).apply(leaf())
        context = weakref.ref(y.grad_fn)
        cut(y)
        del y
        assert context() is None
