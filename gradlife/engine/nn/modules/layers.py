"""Layers besides Linear that lifetime tests use: activations, batch normalization, one loss."""

from __future__ import annotations

from typing import Any

from gradlife import _engine
from gradlife.engine.nn import functional
from gradlife.engine.nn.modules.module import Module
from gradlife.engine.nn.parameter import Parameter
from gradlife.engine.tensors import Tensor


class ReLU(Module):
    """``max(0, x)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Any:
        return functional.relu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        return _engine.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return _engine.tanh(input)


class Threshold(Module):
    """Keep elements above ``threshold``, and replace the others by ``value``."""

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold, self.value = threshold, value

    def forward(self, input: Tensor) -> Any:
        return functional.threshold(input, self.threshold, self.value)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}"


class _BatchNorm(Module):
    """Batch normalization with running mean and variance (buffers)."""

    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    _dims: tuple[int, ...]
    _dims_text: str

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, fill in (("weight", _engine.ones), ("bias", _engine.zeros)):
            self.register_parameter(name, Parameter(fill(num_features)) if affine else None)
        for name, fill in (("running_mean", _engine.zeros), ("running_var", _engine.ones)):
            self.register_buffer(name, fill(num_features) if track_running_stats else None)
        count = _engine.tensor(0, dtype=_engine.int64) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)

    def forward(self, input: Tensor) -> Any:
        if input.dim() not in self._dims:
            raise ValueError(f"expected {self._dims_text} input (got {input.dim()}D input)")
        uses_own = self.training or (self.running_mean is None and self.running_var is None)
        keeps = not self.training or self.track_running_stats
        means, variances = (self.running_mean, self.running_var) if keeps else (None, None)
        momentum = self._next_momentum()
        return functional.batch_norm(input, means, variances, self.weight, self.bias, uses_own, momentum, self.eps)

    def _next_momentum(self) -> float:
        """Return this batch's weight in the running moments; without ``momentum`` they average all batches."""
        if not (self.training and self.num_batches_tracked is not None):
            return self.momentum or 0.0
        self.num_batches_tracked.add_(1)
        return 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum

    def extra_repr(self) -> str:
        moments = f"eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        return f"{self.num_features}, {moments}, track_running_stats={self.track_running_stats}"


class BatchNorm1d(_BatchNorm):
    """Batch normalization over 2D or 3D input (N, C) or (N, C, L)."""

    _dims, _dims_text = (2, 3), "2D or 3D"


class NLLLoss(Module):
    """The negative log-likelihood of the target classes, from log-probabilities."""

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__()
        self.ignore_index, self.reduction = ignore_index, reduction
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return functional.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)
