"""Modules that bend every element."""

from __future__ import annotations

from typing import Any

from gradlife.engine.nn import functional
from gradlife.engine.nn.modules.module import Module
from gradlife.engine.tensors import Tensor

__all__ = [
    "ELU",
    "GELU",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "Threshold",
]


class _Activation(Module):
    """Calls the function of `nn.functional` that it is named after with its settings, which are attributes."""

    _function = ""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self._names = tuple(settings)
        for name, value in settings.items():
            setattr(self, name, value)

    def forward(self, input: Tensor) -> Tensor:
        settings = {name: getattr(self, name) for name in self._names}
        result: Tensor = getattr(functional, self._function)(input, **settings)
        return result

    def extra_repr(self) -> str:
        shown = [name for name in self._names if name != "inplace" or getattr(self, name)]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)


class ReLU(_Activation):
    """``max(0, x)``."""

    _function = "relu"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``."""

    _function = "sigmoid"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


class Tanh(_Activation):
    """The hyperbolic tangent."""

    _function = "tanh"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


class LogSigmoid(_Activation):
    """The logarithm of the sigmoid."""

    _function = "logsigmoid"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


class LeakyReLU(_Activation):
    """The element where it is positive, a small part of it elsewhere."""

    _function = "leaky_relu"

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope, inplace=inplace)


class ELU(_Activation):
    """The element where it is positive, an exponential that ends at ``-alpha`` elsewhere."""

    _function = "elu"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class GELU(_Activation):
    """The element times the normal distribution's share below it."""

    _function = "gelu"

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)


class SiLU(_Activation):
    """``x * sigmoid(x)``."""

    _function = "silu"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Softplus(_Activation):
    """``log(1 + exp(beta * x)) / beta``, and the element itself far up."""

    _function = "softplus"

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)


class Hardtanh(_Activation):
    """The element cut to a range."""

    _function = "hardtanh"

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)


class ReLU6(_Activation):
    """The element cut to 0 and 6."""

    _function = "relu6"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Threshold(_Activation):
    """The element where it is above ``threshold``, ``value`` elsewhere."""

    _function = "threshold"

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)


class Softmax(_Activation):
    """Exponentials that sum to one along ``dim``."""

    _function = "softmax"

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class LogSoftmax(_Activation):
    """The logarithm of the softmax along ``dim``."""

    _function = "log_softmax"

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
