"""Programs whose steps run different operations: the step with the highest peak is judged."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife
from gradlife.peaks.run.session import UNLIKE

torch: Any = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.whole]


def collect() -> None:
    x = torch.ones(200_000)
    double = x * 2
    (double + double).sum()


@pytest.mark.parametrize("offset", [0, 1])
def test_the_higher_of_two_steps_that_alternate_is_judged(offset: int) -> None:
    """Its holders were not known, and "nothing to save" was the verdict of a program that dragged half of its peak."""

    def step(number: int) -> None:
        torch.ones(10).sum()
        if (number + offset) % 2:
            collect()

    report = gradlife.peak(step)
    [saving] = report.savings
    assert saving.holder.startswith("local x of collect")
    assert (report.limits, report.peak_bytes // 100_000) == ((), 24)


def test_steps_that_never_run_as_many_operations_are_said_to_differ() -> None:
    def step(number: int) -> None:
        for _ in range(number + 1):
            torch.ones(10).sum()

    assert gradlife.peak(step).limits == (UNLIKE,)
