"""Functions of ``torch`` itself that are written in Python: some of ``nn.functional``, and some that are only here."""

from __future__ import annotations

from typing import Any

from gradlife import _engine
from gradlife.engine.grad_mode import no_grad
from gradlife.engine.nn.functional import (
    adaptive_avg_pool1d,
    celu,
    celu_,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    cosine_similarity,
    pairwise_distance,
    prelu,
    selu,
    selu_,
    threshold,
    threshold_,
)
from gradlife.engine.tensors import Tensor

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "adaptive_avg_pool1d",
    "celu",
    "celu_",
    "cosine_similarity",
    "isin",
    "pairwise_distance",
    "prelu",
    "selu",
    "selu_",
    "signbit",
    "threshold",
    "threshold_",
]


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """For each element whether it is one of ``test_elements``; with ``invert`` whether it is none."""
    given, tests = (each if isinstance(each, Tensor) else _engine.tensor(each) for each in (elements, test_elements))
    with no_grad():
        found = given.unsqueeze(-1).eq(tests.reshape(-1)).any(-1)
        return found.logical_not() if invert else found


def signbit(input: Tensor) -> Tensor:
    """For each element whether it has a minus: of the two zeros one has."""
    with no_grad():
        is_negative = input.lt(0)
        if not input.dtype.is_floating_point:
            return is_negative
        return is_negative.logical_or(input.eq(0).logical_and(input.reciprocal().lt(0)))
