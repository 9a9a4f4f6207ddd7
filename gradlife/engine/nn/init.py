"""Filling tensors in place, unrecorded, with the starting values of parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from gradlife.engine.grad_mode import no_grad
from gradlife.engine.tensors import Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_T = TypeVar("_T", bound=Tensor)

_GAINS: dict[str, Callable[[Any], float]] = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "sigmoid"), lambda param: 1),
    "tanh": lambda param: 5.0 / 3,
    "relu": lambda param: math.sqrt(2.0),
    "leaky_relu": lambda param: math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2)),
    "selu": lambda param: 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor on the standard deviation of weights that goes with what follows them."""
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity](param)


def uniform_(tensor: _T, a: float = 0.0, b: float = 1.0, generator: Any = None) -> _T:
    """Draws from the uniform distribution on ``[a, b)``."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: _T, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> _T:
    """Draws from the normal distribution."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: _T, val: float) -> _T:
    """Fills with ``val``."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: _T) -> _T:
    """Fills with one."""
    return constant_(tensor, 1.0)


def zeros_(tensor: _T) -> _T:
    """Fills with zero."""
    return constant_(tensor, 0.0)


def xavier_uniform_(tensor: _T, gain: float = 1.0, generator: Any = None) -> _T:
    """Draws uniformly, so that variances stay the same forwards and backwards."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: _T, gain: float = 1.0, generator: Any = None) -> _T:
    """Draws normally, so that variances stay the same forwards and backwards."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def kaiming_uniform_(
    tensor: _T, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> _T:
    """Draws uniformly, so that variances stay the same through layers followed by ``nonlinearity``."""
    if 0 in tensor.shape:
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: _T, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> _T:
    """Draws normally, so that variances stay the same through layers followed by ``nonlinearity``."""
    if 0 in tensor.shape:
        return tensor
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def _fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _fans(tensor)[modes.index(mode.lower())]


def _fans(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    per_element = math.prod(tensor.shape[2:])
    return tensor.shape[1] * per_element, tensor.shape[0] * per_element
