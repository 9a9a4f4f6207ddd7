"""Custom Functions that let go while backward runs, where PyTorch has nothing to compare with: raw handles, other releases."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import leaf
from programs_of_early_release import boxed, count_of, reading_once


def test_a_raw_handle_of_what_was_read_and_let_go_says_that_nothing_is_there() -> None:
    node = reading_once(torch).apply(leaf(2.0)).grad_fn
    handles = node._raw_saved_tensors
    assert count_of(node) == 2
    assert [handle.data for handle in handles] == [None, None]


@pytest.mark.parametrize("profile", ["torch-1.13", "torch-2.10"])
def test_releases_that_do_not_know_the_flags_do_not_look_at_them(profile: str) -> None:
    seen: list[Any] = []

    def backward(ctx: Any, *gradients: Any) -> Any:
        seen.append(len(gradients))
        return gradients[0]

    with torch.profile(profile):
        assert not hasattr(torch.autograd.Function, "boxed_grads_call")
        y = reading_once(torch, "no bool").apply(leaf(2.0))
        assert [count_of(y.grad_fn), count_of(y.grad_fn)] == [2, 2]
        boxed(torch, backward).apply(leaf(2.0))[0].backward()
    assert seen == [2]


def test_buffers_are_not_freed_early_in_releases_without_the_method() -> None:
    with torch.profile("torch-1.13"):
        y = reading_once(torch).apply(leaf(2.0))
        assert not hasattr(y.grad_fn, "maybe_clear_saved_tensors")
