"""The bug that PyTorch 1.2 mended: one node behind several control blocks loses its edges, and a gradient goes missing.

Under torch-1.1 a node is part of its context, and every owner that asks the context for it gets a control block of its own.
When a block's last owner dies inside a graph, the deleter strips the node of its edges, whoever else stands over it.
"""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from lifetimes import doubling, leaf, save_output

pytestmark = pytest.mark.valgrind

REFCOUNT_CHECK = "rejected-refcount-check"
MENDED = ("torch-1.2", "torch-1.10", "torch-2.13", REFCOUNT_CHECK)
every_mended = pytest.mark.parametrize("profile", MENDED)
SEVERED = "edges stripped"


def next_names(y: Any) -> list[str]:
    return [type(after).__name__ for after, _ in y.grad_fn.next_functions]


def use_saved_output_and_drop_it(y: Any) -> None:
    (saved,) = y.grad_fn.saved_tensors
    used = saved * 2
    del saved, used


# --- the smallest form ---


def test_using_a_saved_output_severs_the_graph_and_loses_the_gradient_without_an_error_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        x = leaf()
        y = doubling(save_output).apply(x)
        assert next_names(y) == ["AccumulateGrad"]
        use_saved_output_and_drop_it(y)
        assert next_names(y) == ["NoneType"]
        y.sum().backward()
        assert x.grad is None


@every_mended
def test_using_a_saved_output_leaves_the_graph_whole_since(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        y = doubling(save_output).apply(x)
        use_saved_output_and_drop_it(y)
        assert next_names(y) == ["AccumulateGrad"]
        y.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]


def test_reading_a_saved_output_without_using_it_severs_nothing_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        x = leaf()
        y = doubling(save_output).apply(x)
        for _ in range(3):
            assert y.grad_fn.saved_tensors[0].tolist() == [2.0, 2.0]
        assert next_names(y) == ["AccumulateGrad"]
        y.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]


def test_use_that_is_still_alive_severs_nothing_yet_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        x = leaf()
        y = doubling(save_output).apply(x)
        (saved,) = y.grad_fn.saved_tensors
        used = saved * 2
        del saved
        assert next_names(y) == ["AccumulateGrad"]
        del used
        assert next_names(y) == ["NoneType"]


def test_saved_tensor_that_outlives_its_use_keeps_the_graph_whole_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        y = doubling(save_output).apply(leaf())
        (saved,) = y.grad_fn.saved_tensors
        used = saved * 2
        del used
        assert next_names(y) == ["AccumulateGrad"]
        del saved
        assert next_names(y) == ["AccumulateGrad"]


def test_severing_strips_the_whole_chain_behind_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        x = leaf()
        first = doubling().apply(x)
        y = doubling(save_output).apply(first)
        behind = first.grad_fn
        del first
        use_saved_output_and_drop_it(y)
        assert next_names(y) == ["NoneType"]
        assert [after for after, _ in behind.next_functions] == [None]


def test_severing_stops_at_a_node_that_has_another_owner_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        x = leaf()
        first = doubling().apply(x)
        y = doubling(save_output).apply(first)
        use_saved_output_and_drop_it(y)
        assert next_names(y) == ["NoneType"]
        assert next_names(first) == ["AccumulateGrad"]
        first.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]


def test_severing_is_named_by_the_event_log() -> None:
    with torch.profile("torch-1.1"):
        y = doubling(save_output).apply(leaf())
        torch.clear_events()
        use_saved_output_and_drop_it(y)
        stripped = [(event.kind, event.name) for event in torch.events() if event.detail == SEVERED]
        assert stripped == [("released", "FBackward")]


@pytest.mark.parametrize("profile", ["torch-1.2", "torch-1.10", "torch-2.13"])
def test_no_event_reports_severing_since(profile: str) -> None:
    with torch.profile(profile):
        y = doubling(save_output).apply(leaf())
        torch.clear_events()
        use_saved_output_and_drop_it(y)
        assert [event for event in torch.events() if event.detail == SEVERED] == []


# --- issue 18619: the second derivative, asked for twice ---


class ExpWithSavedOutput(torch.autograd.Function):
    """exp, differentiated by way of its saved output."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (y,) = ctx.saved_tensors
        return grad * y


def second_derivative(x: Any, y: Any) -> Any:
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, retain_graph=True, allow_unused=True)
    return second


def test_second_derivative_is_right_once_and_missing_the_second_time_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        x = leaf(0.0)
        y = ExpWithSavedOutput.apply(x)
        assert second_derivative(x, y).tolist() == [1.0]
        (first,) = torch.autograd.grad(y, x, create_graph=True, allow_unused=True)
        assert first is None


@every_mended
def test_second_derivative_is_right_however_often_it_is_asked_for_since(profile: str) -> None:
    with torch.profile(profile):
        x = leaf(0.0)
        y = ExpWithSavedOutput.apply(x)
        assert [second_derivative(x, y).tolist() for _ in range(3)] == [[1.0], [1.0], [1.0]]


class ProductWithSavedOutput(torch.autograd.Function):
    """The program of issue 18619: a product of a matrix, whose backward divides the saved output by the saved input."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x[0] * x[1]
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        return grad * y / x


def mixed_derivatives(x: Any, y: Any) -> list[list[float]]:
    found = []
    for _ in range(2):
        gradients: Any = torch.autograd.grad(y, x, create_graph=True)
        second: Any = torch.autograd.grad(gradients[0][0], x, retain_graph=True)
        found.append(second[0].tolist())
    return found


def test_program_of_issue_18619_gives_a_wrong_number_without_an_error_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        x = leaf(1.0, 1.0)
        right, wrong = mixed_derivatives(x, ProductWithSavedOutput.apply(x) * 1)
        assert right == [0.0, 1.0]
        assert wrong == [-1.0, 0.0]


@every_mended
def test_program_of_issue_18619_is_right_both_times_since(profile: str) -> None:
    with torch.profile(profile):
        x = leaf(1.0, 1.0)
        assert mixed_derivatives(x, ProductWithSavedOutput.apply(x) * 1) == [[0.0, 1.0], [0.0, 1.0]]
