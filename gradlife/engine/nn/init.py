"""Initial values of parameters, written in place and not recorded."""

from __future__ import annotations

import math
from typing import TypeVar

from gradlife.engine.grad_mode import no_grad
from gradlife.engine.tensors import Tensor

_T = TypeVar("_T", bound=Tensor)


def uniform_(tensor: _T, a: float = 0.0, b: float = 1.0) -> _T:
    """Draw from the uniform distribution on ``[a, b)``."""
    with no_grad():
        return tensor.uniform_(a, b)


def kaiming_uniform_(tensor: _T, a: float = 0) -> _T:
    """Draw uniformly, so that variances stay the same through layers followed by leaky_relu of negative slope ``a``."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    fan_in = math.prod(tensor.shape[1:])
    if 0 in tensor.shape:
        return tensor
    bound = math.sqrt(6.0 / ((1 + a**2) * fan_in))
    return uniform_(tensor, -bound, bound)
