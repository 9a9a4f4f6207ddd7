"""Control blocks over one node, counted under PyTorch 1.1, and the rejected repair that asks the context's count."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import gradlife.engine as torch
from lifetimes import RELEASES, doubling, leaf, save_output

REFCOUNT_CHECK = "rejected-refcount-check"
SEVERED = "edges stripped"


def blocks() -> int:
    return torch.live_counts()["block"]


def use_saved_output_and_drop_it(y: Any) -> None:
    (saved,) = y.grad_fn.saved_tensors
    used = saved * 2
    del saved, used


def test_each_asking_for_the_saved_tensors_makes_one_more_control_block_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        y = doubling(save_output).apply(leaf())
        assert blocks() == 1
        held = [y.grad_fn.saved_tensors for _ in range(5)]
        assert blocks() == 6
        del held[:2]
        assert blocks() == 4
        del held
        assert blocks() == 1
        del y
        assert blocks() == 0


def test_outputs_of_one_application_share_their_control_block_in_1_1() -> None:
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            return first * 2 + second * 3

    with torch.profile("torch-1.1"):
        y, z = Both.apply(leaf())
        assert y.grad_fn is z.grad_fn
        assert blocks() == 1


def test_each_control_block_is_one_more_reference_to_the_context_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        y = doubling(save_output).apply(leaf())
        context = y.grad_fn
        before = sys.getrefcount(context)
        held = [context.saved_tensors for _ in range(3)]
        assert sys.getrefcount(context) == before + 3
        del held
        assert sys.getrefcount(context) == before


@pytest.mark.parametrize("profile", ["torch-1.2", "torch-1.10", "torch-2.13"])
def test_one_node_is_shared_however_often_it_is_asked_for_since(profile: str) -> None:
    with torch.profile(profile):
        y = doubling(save_output).apply(leaf())
        nodes = torch.live_counts()["node"]
        before = torch.use_count(y.grad_fn)
        held = [y.grad_fn.saved_tensors for _ in range(5)]
        assert blocks() == 0
        assert torch.live_counts()["node"] == nodes
        assert torch.use_count(y.grad_fn) == before + 5
        assert all(row[0].grad_fn is y.grad_fn for row in held)
        del held
        assert torch.use_count(y.grad_fn) == before


@pytest.mark.parametrize("profile", RELEASES)
def test_tensors_read_from_the_saved_output_have_the_same_grad_fn(profile: str) -> None:
    with torch.profile(profile):
        y = doubling(save_output).apply(leaf())
        assert {id(y.grad_fn.saved_tensors[0].grad_fn) for _ in range(4)} == {id(y.grad_fn)}


# --- the rejected repair: ask the context's reference count before stripping ---


def test_refcount_check_still_hands_out_separate_control_blocks() -> None:
    with torch.profile(REFCOUNT_CHECK):
        y = doubling(save_output).apply(leaf())
        held = [y.grad_fn.saved_tensors for _ in range(5)]
        assert blocks() == 6
        del held
        assert blocks() == 1


def test_refcount_check_strips_once_no_other_reference_to_the_context_is_left() -> None:
    with torch.profile(REFCOUNT_CHECK):
        z = doubling().apply(leaf()) * 3
        torch.clear_events()
        del z
        assert [event.name for event in torch.events() if event.detail == SEVERED] == ["FBackward"]


def test_refcount_check_is_changed_by_a_name_that_only_looks() -> None:
    with torch.profile(REFCOUNT_CHECK):
        z = doubling().apply(leaf()) * 3
        onlooker = z.grad_fn.next_functions[0][0]
        torch.clear_events()
        del z
        assert [event.name for event in torch.events() if event.detail == SEVERED] == []
        assert [type(after).__name__ for after, _ in onlooker.next_functions] == ["AccumulateGrad"]


def test_a_name_that_only_looks_finds_a_stripped_node_in_1_1() -> None:
    with torch.profile("torch-1.1"):
        z = doubling().apply(leaf()) * 3
        onlooker = z.grad_fn.next_functions[0][0]
        del z
        assert [after for after, _ in onlooker.next_functions] == [None]


def test_thread_that_uses_a_saved_output_severs_the_graph_of_another_in_1_1() -> None:
    def use(y: Any) -> None:
        with torch.profile("torch-1.1"):
            use_saved_output_and_drop_it(y)

    with torch.profile("torch-1.1"):
        x = leaf()
        y = doubling(save_output).apply(x)
        worker = threading.Thread(target=use, args=(y,))
        worker.start()
        worker.join()
        y.sum().backward()
        assert x.grad is None
