"""Fresh operands for a call, and the pool of arguments that the search tries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradlife.engine as torch

Make = Callable[[], Any]


def matrix() -> Any:
    """Make a 2 by 2 tensor of doubles in a graph, not a leaf, so that it may be changed in place."""
    return torch.tensor([[0.3, 0.6], [0.4, 0.7]], dtype=torch.float64, requires_grad=True) * 1


def vector() -> Any:
    return torch.tensor([0.2, 0.9], dtype=torch.float64, requires_grad=True) * 1


def box() -> Any:
    values = [[[0.1, 0.2], [0.3, 0.4]], [[0.5, 0.6], [0.7, 0.8]]]
    return torch.tensor(values, dtype=torch.float64, requires_grad=True) * 1


def scalar() -> Any:
    return torch.tensor(0.5, dtype=torch.float64, requires_grad=True) * 1


def leaf() -> Any:
    return torch.tensor([0.5, 0.25], dtype=torch.float64, requires_grad=True)


def places() -> Any:
    return torch.tensor([[0, 1], [1, 0]])


def numbers() -> Any:
    return torch.tensor([1, 0])


def mask() -> Any:
    return torch.tensor([[True, False], [False, True]])


def unit_rows() -> Any:
    """Make probabilities."""
    return torch.tensor([[0.2, 0.8], [0.6, 0.4]], dtype=torch.float64)


def value_of(value: Any) -> Make:
    return lambda: value


#: Arguments that a call is tried with, the likeliest first.
POOL: tuple[Make, ...] = (
    matrix,
    value_of(1),
    value_of((2, 2)),
    vector,
    places,
    numbers,
    mask,
    value_of(0),
    value_of(0.5),
    value_of((0, 1)),
    value_of((1, 2)),
    lambda: [matrix(), matrix()],
    lambda: (numbers(),),
    box,
    value_of(torch.float32),
    value_of("cpu"),
    scalar,
    value_of(True),
    value_of(print),
    dict,
    value_of(None),
    leaf,
)
#: Owners for methods and attributes of a tensor.
TENSORS: tuple[Make, ...] = (
    matrix,
    vector,
    box,
    leaf,
    places,
    mask,
    scalar,
    lambda: matrix().detach(),
    lambda: box()[0][0][0].detach(),
)
