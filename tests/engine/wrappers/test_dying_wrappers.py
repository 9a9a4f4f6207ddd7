"""A callback of a weak reference runs while its object dies: what it asks for is made anew, never the dying object."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import gradlife.engine as torch


def asked_while_dying(ask: Any) -> list[Any]:
    """Return what `ask` gives while the object dies that it gave before."""
    found: list[Any] = []
    kept = weakref.ref(ask(), lambda _: found.append(ask()))
    assert kept() is None
    return found


def test_the_handle_of_a_saved_tensor_is_another_one() -> None:
    """The dying handle was given out again, and freed twice."""
    y = torch.ones(3, requires_grad=True).exp()
    [handle] = asked_while_dying(lambda: y.grad_fn._raw_saved_result)
    assert handle.data.tolist() == y.tolist()


def test_the_wrapper_of_a_node_of_oneflow_is_another_one() -> None:
    with torch.profile("oneflow-0.9"):
        y = torch.ones(3, requires_grad=True) * 2
        [node] = asked_while_dying(lambda: y.grad_fn)
        assert node is y.grad_fn


def test_an_argument_whose_name_has_half_a_character_is_an_error() -> None:
    with pytest.raises(UnicodeEncodeError):
        torch.Tensor(**{"\udc80": 1})


@pytest.mark.parametrize("number", [1, 2**32 - 1, 2**32, 2**64 - 1])
def test_an_edge_to_an_output_that_there_is_not_is_refused(number: int) -> None:
    """It was read and written beyond the node's gradients. PyTorch crashes: docs/upstream/gradient_edge_number.md."""
    y = torch.ones(3, requires_grad=True) * 2
    edge = torch.autograd.graph.GradientEdge(y.grad_fn, number)
    with pytest.raises(IndexError, match=f"there is no output {number} of MulBackward0, which has 1"):
        torch.autograd.grad(y.sum(), edge, allow_unused=True)
