"""Integers from 2^63 to 2^64-1, as a node shows a negative dimension, and powers in place, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SHOWN = 2**64 - 1

USES: dict[str, Callable[[Any, Any], Any]] = {
    "times": lambda fw, x: x * fw.ones(2).unsqueeze(-1).requires_grad_().unsqueeze(-1).grad_fn._saved_dim,
    "from the left": lambda fw, x: SHOWN - x,
    "divided": lambda fw, x: x / SHOWN,
    "as a power": lambda fw, x: x**SHOWN,
    "as a base": lambda fw, x: SHOWN ** x.detach(),
    "compared": lambda fw, x: x < SHOWN,
    "scaled": lambda fw, x: x.add(1, alpha=SHOWN),
    "filled": lambda fw, x: x.detach().fill_(SHOWN),
    "added in place": lambda fw, x: x.detach().add_(SHOWN),
    "made": lambda fw, x: fw.full((2,), SHOWN, dtype=fw.float64),
    "power in place by a number": lambda fw, x: (x * 3).pow_(2),
    "power in place by a tensor": lambda fw, x: (x * 3).pow_(x),
}


def outcome(fw: Any, use: Callable[[Any, Any], Any]) -> Any:
    x = fw.tensor([1.0, 0.5], dtype=fw.float64, requires_grad=True)
    result = use(fw, x)
    if not result.requires_grad:
        return result.tolist()
    result.sum().backward()
    return result.tolist(), x.grad.tolist(), result.grad_fn.name(), result._version


@pytest.mark.parametrize("name", USES)
def test_numbers_past_63_bits_and_powers_in_place_are_as_in_pytorch(name: str) -> None:
    assert outcome(mini, USES[name]) == outcome(real, USES[name])
