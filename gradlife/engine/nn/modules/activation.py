"""Modules that bend every element."""

from __future__ import annotations

from gradlife.engine.nn.modules.module import Module
from gradlife.engine.tensors import Tensor

__all__ = ["ReLU", "Sigmoid", "Tanh"]


class ReLU(Module):
    """``max(0, x)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return input.relu_() if self.inplace else input.relu()

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()
