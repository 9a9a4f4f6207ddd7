"""Small programs of which one half is built under one profile and the other half under another, all sound ones with all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import gradlife.engine as torch
from leftovers import difference, live_counts
from lifetimes import doubling, leaf, nothing

BASE = "torch-2.13"
SOUND = [name for name in torch.profiles() if not name.startswith(("broken-", "rejected-"))]
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "exp": lambda y, w: (y * 0.1).exp(),
    "sin": lambda y, w: y.sin(),
    "times leaf": lambda y, w: y * w,
    "twice itself": lambda y, w: y + y,
    "custom": lambda y, w: doubling(nothing).apply(y),
    "view": lambda y, w: y.view(-1),
    "square": lambda y, w: y * y * 0.1,
}
steps = st.lists(st.sampled_from(list(STEPS)), max_size=4)


def run_program(lower: list[str], upper: list[str], first: str, second: str) -> tuple[list[float], list[float]]:
    with torch.profile(first):
        x, w = leaf(1.0, 2.0), leaf(0.5, 1.5)
        y = x * w
        for step in lower:
            y = STEPS[step](y, w)
    with torch.profile(second):
        for step in upper:
            y = STEPS[step](y, w)
        y.sum().backward()
    return x.grad.tolist(), w.grad.tolist()


@pytest.mark.whole
@settings(max_examples=60, deadline=None)
@given(steps, steps, st.sampled_from(SOUND), st.sampled_from(SOUND))
def test_any_two_sound_profiles_agree_on_gradients_and_leave_nothing(
    lower: list[str], upper: list[str], first: str, second: str
) -> None:
    before = live_counts()
    expected = run_program(lower, upper, BASE, BASE)
    assert run_program(lower, upper, first, second) == expected
    assert difference(before, live_counts()) == {}
