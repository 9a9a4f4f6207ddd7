"""Lengths and distances along one dimension."""

from __future__ import annotations

from typing import Any

from gradlife.engine.grad_mode import no_grad
from gradlife.engine.tensors import Tensor


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """Divided by the p-norm along ``dim``, so that this is 1; norms below ``eps`` count as that."""
    if out is not None:
        raise RuntimeError("normalize(): gradlife's engine gives results, it does not write them into out=")
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along ``dim``; lengths below ``eps`` count as that."""
    lengths = [x.norm(2, dim, keepdim=True).clone() for x in (x1, x2)]
    with no_grad():
        for length in lengths:
            length.clamp_min_(eps)
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of the differences along the last dimension; ``eps`` is added to each difference."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)
