"""What is made of a tensor while a few steps are watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.snapshots.stale_activations import Watch  # noqa: E402


def extend_in_place(old: Any) -> Any:
    """Copy the old tensor into a longer one."""
    new = torch.zeros(12)
    new[:8] = old
    return new


@pytest.mark.parametrize(
    ("replace", "is_made"),
    [
        (lambda old: torch.cat([old, torch.zeros(4)]), True),
        (lambda old: torch.cat([old.detach().clone(), torch.zeros(4)])[:], True),
        (extend_in_place, True),
        (lambda old: torch.zeros(12).copy_(torch.cat([old, old[:4]])), True),
        (lambda old: torch.zeros(12), False),
        (lambda old: torch.full((12,), old.mean().item()), False),
    ],
    ids=["cat", "clone", "setitem", "copy_", "new", "number"],
)
def test_a_tensor_is_made_of_another_one_that_functions_passed_on(replace: Callable[[Any], Any], is_made: bool) -> None:
    """A batch whose mean is printed after the optimizer's step is read by the next step, and no part of its batch."""
    old = torch.ones(8)
    watch = Watch([], [id(old)])
    watch.start()
    new = replace(old)
    watch.stop()
    assert id(old) in watch.read or not is_made
    assert watch.is_made_of_source(id(new)) == is_made
    assert not watch.left_torch


@pytest.mark.parametrize(
    ("leave", "has_left"),
    [(lambda old: old.tolist(), True), (lambda old: old.sum().tolist(), False)],
    ids=["all", "sum"],
)
def test_the_contents_of_a_tensor_may_leave_torch_and_come_back(leave: Callable[[Any], Any], has_left: bool) -> None:
    old = torch.ones(8)
    watch = Watch([], [id(old)])
    watch.start()
    leave(old)
    watch.stop()
    assert watch.left_torch == has_left
