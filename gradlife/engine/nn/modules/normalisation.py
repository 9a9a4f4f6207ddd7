"""Modules that normalise channels, and keep what they saw in training for afterwards."""

from __future__ import annotations

import warnings
from typing import Any

from gradlife import _engine
from gradlife.engine.nn import functional, init
from gradlife.engine.nn.modules.module import Module
from gradlife.engine.nn.parameter import Parameter
from gradlife.engine.tensors import Tensor

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _Norm(Module):
    """What both kinds share: scale and shift to learn, and running moments."""

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
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        **place: Any,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name in ("weight", "bias"):
            self.register_parameter(name, Parameter(_engine.empty(num_features, **place)) if affine else None)
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, _engine.zeros(num_features, **place) if track_running_stats else None)
        count = _engine.tensor(0, dtype=_engine.int64) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets what was seen in training."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Scales by one and shifts by zero."""
        self.reset_running_stats()
        if self.weight is not None and self.bias is not None:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._dims:
            raise ValueError(f"expected {self._dims_text} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        moments = f"eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        return f"{self.num_features}, {moments}, track_running_stats={self.track_running_stats}"


class _BatchNorm(_Norm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        follows = self.training and self.track_running_stats
        has_moments = self.running_mean is not None or self.running_var is not None
        uses_own = self.training or not has_moments
        momentum = self._counted() if follows else self.momentum or 0.0
        keeps = not self.training or self.track_running_stats
        means, variances = (self.running_mean, self.running_var) if keeps else (None, None)
        return functional.batch_norm(input, means, variances, self.weight, self.bias, uses_own, momentum, self.eps)

    def _counted(self) -> float:
        """How far the running moments move; without a momentum they are the average of all batches."""
        if self.num_batches_tracked is None:
            return self.momentum or 0.0
        self.num_batches_tracked.add_(1)
        return 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum


class BatchNorm1d(_BatchNorm):
    """Of vectors, or of rows of them."""

    _dims, _dims_text = (2, 3), "2D or 3D"


class BatchNorm2d(_BatchNorm):
    """Of pictures."""

    _dims, _dims_text = (4,), "4D"


class BatchNorm3d(_BatchNorm):
    """Of volumes."""

    _dims, _dims_text = (5,), "5D"


class _InstanceNorm(_Norm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        is_single = input.dim() == self._dims[0]
        dim = 0 if is_single else 1
        self._check_channels(input.size(dim), dim)
        if is_single:
            return self._normal(input.unsqueeze(0)).squeeze(0)
        return self._normal(input)

    def _check_channels(self, channels: int, dim: int) -> None:
        if channels == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {channels}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
            "num_features, which is not used because affine=False",
            stacklevel=4,
        )

    def _normal(self, input: Tensor) -> Tensor:
        return functional.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Of rows of vectors."""

    _dims, _dims_text = (2, 3), "2D or 3D"


class InstanceNorm2d(_InstanceNorm):
    """Of pictures."""

    _dims, _dims_text = (3, 4), "3D or 4D"


class InstanceNorm3d(_InstanceNorm):
    """Of volumes."""

    _dims, _dims_text = (4, 5), "4D or 5D"
