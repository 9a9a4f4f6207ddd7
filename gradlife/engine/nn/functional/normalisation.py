"""Normalisation of channels: over the batch, or of each sample by itself."""

from __future__ import annotations

from gradlife import _engine
from gradlife.engine.tensors import Tensor

__all__ = ["batch_norm", "instance_norm"]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 of each channel, then ``* weight + bias``.

    In training the moments are those of the input, and the running ones move towards them; else the running ones are taken.
    ValueError: one element per channel has no variance.
    """
    if training and input.numel() // input.size(1) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
    if eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive, but got {eps}")
    return _engine._nn_batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Like `batch_norm`, but each sample's channels have moments of their own.

    ValueError: one element per channel has no variance.
    """
    samples, channels, *rest = input.shape
    if use_input_stats and input.numel() == samples * channels:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    flat = input.contiguous().view(1, samples * channels, *rest)
    means, variances = _repeated(running_mean, samples), _repeated(running_var, samples)
    scales, shifts = _repeated(weight, samples), _repeated(bias, samples)
    result = _engine._nn_batch_norm(flat, means, variances, scales, shifts, use_input_stats, momentum, eps)
    if use_input_stats:
        _average_back(running_mean, means, samples)
        _average_back(running_var, variances, samples)
    return result.view(input.shape)


def _repeated(tensor: Tensor | None, times: int) -> Tensor | None:
    return None if tensor is None else tensor.repeat(times)


def _average_back(running: Tensor | None, repeated: Tensor | None, samples: int) -> None:
    if running is not None and repeated is not None:
        running.detach().copy_(repeated.view(samples, -1).mean(0))
