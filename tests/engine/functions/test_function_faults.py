"""Custom Functions where things go wrong: errors, stashed contexts, rejected designs."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife._engine import TensorBase
from leftovers import leaves
from lifetimes import (
    EVERY_PROFILE,
    RELEASES,
    Watched,
    collector_off,
    doubling,
    failure,
    keep_output,
    leaf,
    save_input,
    save_output,
    verdict,
)
from torch_texts import UNDEFINED_TENSOR

every_profile = pytest.mark.parametrize("profile", EVERY_PROFILE)
every_release = pytest.mark.parametrize("profile", RELEASES)


def boom(*ignored: Any) -> None:
    raise ValueError("boom")


# --- errors leave the counts as they were ---


@every_profile
def test_error_in_forward_frees_the_context_and_what_it_was_to_save(profile: str) -> None:
    def save_and_raise(ctx: Any, x: Any, y: Any) -> None:
        ctx.save_for_backward(x, y)
        ctx.x = x
        boom()

    with torch.profile(profile), collector_off():
        before = torch.live_counts()
        assert failure(lambda: doubling(save_and_raise).apply(leaf())) == "ValueError: boom"
        assert torch.live_counts() == before


@every_profile
def test_error_in_backward_frees_the_graph_with_its_output(profile: str) -> None:
    with torch.profile(profile), collector_off():
        before = torch.live_counts()
        y = doubling(save_input, boom).apply(leaf() * 1)
        assert failure(y.sum().backward) == "ValueError: boom"
        del y
        assert torch.live_counts() == before


@every_release
def test_graph_whose_backward_failed_can_be_run_again(profile: str) -> None:
    calls: list[int] = []

    def fail_once(ctx: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            boom()

    with torch.profile(profile):
        x = leaf()
        y = doubling(save_input, fail_once).apply(x)
        assert failure(y.sum().backward) == "ValueError: boom"
        assert x.grad is None
        y.sum().backward()
        gradient: Any = x.grad
        assert gradient.tolist() == [2.0, 2.0]


@every_release
def test_result_of_forward_that_is_no_tensor_frees_the_context(profile: str) -> None:
    class Lost(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward("no tensor")
            return x * 2

    text = "TypeError: save_for_backward can only save variables, but argument 0 is of type str"
    with torch.profile(profile), collector_off():
        before = torch.live_counts()
        assert failure(lambda: Lost.apply(leaf())) == text
        assert torch.live_counts() == before


# --- contexts stashed where they should not be ---


@pytest.mark.parametrize(
    ("profile", "answer"),
    [("torch-1.1", 1), ("torch-1.2", None), ("torch-1.10", None), ("torch-2.13", 1)],
)
def test_stashed_context_answers_after_its_graph_died_only_where_it_owns_its_node(
    profile: str, answer: int | None
) -> None:
    stash: list[Any] = []

    def stash_it(ctx: Any, x: Any, y: Any) -> None:
        ctx.save_for_backward(x)
        stash.append(ctx)

    with torch.profile(profile):
        doubling(stash_it).apply(leaf())
        if answer is None:
            assert failure(lambda: stash[0].saved_tensors).startswith(
                "RuntimeError: Trying to backward through the graph"
            )
        else:
            assert len(stash[0].saved_tensors) == answer
    stash.clear()


@every_release
def test_stashed_context_of_a_call_that_recorded_nothing_has_nothing(profile: str) -> None:
    stash: list[Any] = []

    def stash_it(ctx: Any, x: Any, y: Any) -> None:
        stash.append(ctx)

    with torch.profile(profile), collector_off():
        before = torch.live_counts()
        with torch.no_grad():
            y = doubling(stash_it).apply(leaf())
        assert y.grad_fn is None
        assert stash[0].needs_input_grad == (True,)
        stash.clear()
        del y
        assert torch.live_counts() == before


@every_release
def test_function_applied_inside_the_forward_of_another_leaves_no_history_there(profile: str) -> None:
    inner = doubling(save_input)

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return inner.apply(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 5

    with torch.profile(profile):
        x = leaf()
        y = Outer.apply(x)
        assert torch.live_counts()["context"] == 1
        y.sum().backward()
        assert x.grad.tolist() == [5.0, 5.0]


LOST = {"tensor": 3, "storage": 3, "node": 3, "saved": 1, "context": 1}


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param("torch-1.1", marks=leaves(**LOST, block=1)),
        *(pytest.param(profile, marks=leaves(**LOST)) for profile in EVERY_PROFILE[1:]),
    ],
)
def test_context_that_keeps_the_result_of_a_later_operation_is_lost(profile: str) -> None:
    def build() -> Watched:
        function = doubling()
        y = function.apply(leaf())
        function.context().later = y * 1
        return y, function.context

    with torch.profile(profile):
        assert verdict(build) == "never"


# --- cycles through gradients ---


@every_release
def test_gradient_with_a_graph_holds_its_leaf_until_it_is_set_to_none(profile: str) -> None:
    with torch.profile(profile), collector_off():
        before = torch.live_counts()
        x = leaf()
        gradients: Any = torch.autograd.grad((x * x).sum(), x, create_graph=True)
        x.grad = gradients[0]
        alive = weakref.ref(x)
        del gradients
        x.grad = None
        del x
        assert alive() is None
        assert torch.live_counts() == before


@pytest.mark.parametrize(
    "profile", [pytest.param(profile, marks=leaves(tensor=4, storage=3, node=4, saved=2)) for profile in RELEASES]
)
def test_gradient_with_a_graph_and_its_leaf_are_lost_together(profile: str) -> None:
    def build() -> Watched:
        x = leaf()
        gradients: Any = torch.autograd.grad((x * x).sum(), x, create_graph=True)
        x.grad = gradients[0]
        return None, weakref.ref(x) if profile in ("torch-1.10", "torch-2.13") else weakref.ref(
            TensorBase.untyped_storage(x)
        )

    with torch.profile(profile, storage_identity="coupled"):
        assert verdict(build) == "never"


# --- the rejected design: a node allocated with its context, behind a weak pointer ---


def test_node_behind_a_weak_pointer_is_dead_at_once() -> None:
    with torch.profile("broken-function-ownership"):
        before = torch.live_counts()["node"]
        context = doubling()._backward_cls()
        assert torch.live_counts()["node"] == before
        assert failure(lambda: context.next_functions).startswith("RuntimeError: Attribute 'next_functions' is invalid")


def test_output_of_a_function_whose_node_is_dead_has_no_history() -> None:
    with torch.profile("broken-function-ownership"):
        x = leaf()
        y = doubling(save_output).apply(x)
        assert y.grad_fn is None
        assert not y.requires_grad
        text = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"
        assert failure(y.sum().backward) == text
        assert x.grad is None


def test_function_whose_node_is_dead_leaves_nothing() -> None:
    with torch.profile("broken-function-ownership"), collector_off():
        before = torch.live_counts()
        y = doubling(keep_output).apply(leaf())
        del y
        gc.collect()
        assert torch.live_counts() == before


@pytest.mark.parametrize("change", [torch.Tensor.sigmoid_, lambda y: y.__ipow__(leaf())])
def test_segfault_after_in_place_change_of_a_second_output_that_was_an_input_of_backward(change: Any) -> None:
    """The change raises when its node is in the graph and its result is not saved: backward looks for that result."""

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 3, x * 2

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            return second * 2

    x = leaf()
    y = Two.apply(x)[1]
    x.sum().backward(inputs=[y])
    with pytest.raises(RuntimeError, match="out != nullptr INTERNAL ASSERT FAILED"):
        change(y)
    assert y.grad_fn._saved_result is None
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    assert str(error.value).startswith(UNDEFINED_TENSOR)
    assert x.grad is None


def test_a_retained_second_output_that_a_view_changes_twice_raises_and_keeps_its_node() -> None:
    """PyTorch moves the hook before the base gets its number at the new node, and does not find it the second time."""

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            return first * 2 + second * 3

    y = Two.apply(leaf())[1]
    y.retain_grad()
    view = y[0:1]
    view.mul_(2)
    node = y.grad_fn
    assert type(node).__name__ == "CopySlices"
    with pytest.raises(RuntimeError, match="out != nullptr INTERNAL ASSERT FAILED"):
        view.mul_(2)
    assert y.grad_fn is node
