"""OneFlow's checkpoints: slots keep numbers, and the first that is asked for has everything computed again."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.engine.utils.checkpoint.by_number import checkpoint_by_number
from leftovers import leaves


# The hooks of what was computed again own the list with its tensors.
@leaves(hook=2, node=2, saved=2, storage=3, tensor=3)
def test_what_is_between_dies_at_once_and_is_computed_again_for_backward() -> None:
    between: list[weakref.ref[Any]] = []

    def function(x: Any) -> Any:
        hidden = x * x
        between.append(weakref.ref(hidden))
        return (hidden * hidden).sum()

    x = torch.tensor([3.0], requires_grad=True)
    out = checkpoint_by_number(function, (x,))
    assert [one() for one in between] == [None]
    out.backward()
    assert len(between) == 2
    assert x.grad.tolist() == [108.0]


def test_a_second_unpacking_while_it_computes_again_is_refused() -> None:
    x = torch.tensor([3.0], requires_grad=True)

    def function(x: Any) -> Any:
        out = (x * x).sum()
        if torch.is_grad_enabled() and calls:
            out.backward(retain_graph=True)
        calls.append(1)
        return out

    calls: list[int] = []
    out = checkpoint_by_number(function, (x,))
    with pytest.raises(RuntimeError, match="never exposed"):
        out.backward()
