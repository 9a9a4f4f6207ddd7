"""Backward passes count where nothing better does."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest

from gradlife.hunting.steps.backward_passes import WARMUP_PASSES, BackwardSteps


class Torch:
    """The parts of torch that are wrapped."""

    def __init__(self, run: Callable[..., Any] = lambda *tensors: tensors) -> None:
        self.steps: list[str] = []
        self.heard = BackwardSteps(self.begin)
        self.autograd = types.SimpleNamespace(_engine_run_backward=run)
        self.heard.attach(self.autograd)

    def begin(self, name: str) -> Callable[[], object]:
        return lambda: self.steps.append(name)

    def backward(self, times: int = 1) -> None:
        for _ in range(times):
            assert self.autograd._engine_run_backward(1, 2) == (1, 2)


def test_each_backward_pass_is_a_step_once_there_were_some() -> None:
    torch = Torch()
    torch.backward(WARMUP_PASSES + 1)
    assert torch.steps == []
    torch.backward(3)
    assert torch.steps == ["backward pass"] * 3


def test_a_pass_within_a_pass_is_no_step_of_its_own() -> None:
    torch = Torch()

    def reentrant(depth: int) -> int:
        return depth and int(torch.autograd._engine_run_backward(depth - 1))

    torch.autograd._engine_run_backward = reentrant
    torch.heard.attach(torch.autograd)
    for _ in range(WARMUP_PASSES + 1 + 2):
        assert torch.autograd._engine_run_backward(3) == 0
    assert torch.steps == ["backward pass"] * 2


def test_a_pass_that_fails_counts_and_raises() -> None:
    def fails() -> None:
        raise RuntimeError("no graph")

    torch = Torch(fails)
    for _ in range(WARMUP_PASSES + 2):
        with pytest.raises(RuntimeError, match="no graph"):
            torch.autograd._engine_run_backward()
    assert torch.steps == ["backward pass"]


def test_a_torch_that_lacks_the_function_is_left_alone() -> None:
    other = types.SimpleNamespace()
    BackwardSteps(lambda name: lambda: None).attach(other)
    assert vars(other) == {}
