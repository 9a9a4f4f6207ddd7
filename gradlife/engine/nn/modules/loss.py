"""Modules that measure how far a result is from its target."""

from __future__ import annotations

import warnings
from typing import Any

from gradlife.engine.nn import functional
from gradlife.engine.nn.modules.module import Module
from gradlife.engine.tensors import Tensor

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]


class _Loss(Module):
    """Calls the function of `nn.functional` that it is named after; weights are buffers."""

    _function = ""
    reduction: str

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", **settings: Any) -> None:
        super().__init__()
        self.reduction = reduction if size_average is None and reduce is None else _legacy(size_average, reduce)
        self._names = tuple(settings)
        for name, value in settings.items():
            if value is None or isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        settings = {name: getattr(self, name) for name in self._names}
        result: Tensor = getattr(functional, self._function)(input, target, reduction=self.reduction, **settings)
        return result


def _legacy(size_average: bool | None, reduce: bool | None) -> str:
    kind = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{kind}' instead.", stacklevel=4
    )
    return kind


class MSELoss(_Loss):
    """The squared difference."""

    _function = "mse_loss"

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)


class L1Loss(_Loss):
    """The absolute difference."""

    _function = "l1_loss"

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)


class SmoothL1Loss(_Loss):
    """The squared difference where it is small, the absolute one elsewhere."""

    _function = "smooth_l1_loss"

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction, beta=beta)


class BCELoss(_Loss):
    """The cross entropy of probabilities of two classes."""

    _function = "binary_cross_entropy"

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction, weight=weight)


class BCEWithLogitsLoss(_Loss):
    """The cross entropy of two classes, from logits."""

    _function = "binary_cross_entropy_with_logits"

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction, weight=weight, pos_weight=pos_weight)


class NLLLoss(_Loss):
    """The negative logarithm of the right class's probability, from logarithms."""

    _function = "nll_loss"

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction, weight=weight, ignore_index=ignore_index)


class CrossEntropyLoss(_Loss):
    """The cross entropy of classes, from logits."""

    _function = "cross_entropy"

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        settings = {"weight": weight, "ignore_index": ignore_index, "label_smoothing": label_smoothing}
        super().__init__(size_average, reduce, reduction, **settings)
