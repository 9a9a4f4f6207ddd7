"""Tools on the parameters of a model: their gradients clipped, all of them as one vector."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from gradlife import _engine
from gradlife.engine.grad_mode import no_grad
from gradlife.engine.tensors import Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "vector_to_parameters"]


def get_total_norm(tensors: Iterable[Tensor] | Tensor, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """The norm of all tensors taken as one vector."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return _engine.tensor(0.0)
    norms = _engine.stack([_norm(tensor, norm_type) for tensor in tensors])
    total = _norm(norms, norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def _norm(tensor: Tensor, order: float) -> Tensor:
    if math.isinf(order):
        return _engine.max(tensor.abs())
    return tensor.abs().pow(order).sum().pow(1 / order)


def clip_grad_norm_(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scales all gradients in place so that their norm is ``max_norm`` at most, and gives the norm that it was."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    with no_grad():
        total = get_total_norm(gradients, norm_type, error_if_nonfinite)
        scale = min(max_norm / (total.item() + 1e-6), 1.0)
        for gradient in gradients:
            gradient.mul_(scale)
    return total


def clip_grad_value_(parameters: Iterable[Tensor] | Tensor, clip_value: float, foreach: bool | None = None) -> None:
    """Cuts every element of the gradients in place to ``[-clip_value, clip_value]``."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    with no_grad():
        for parameter in parameters:
            if parameter.grad is not None:
                gradient = parameter.grad
                gradient[gradient > clip_value] = clip_value
                gradient[gradient < -clip_value] = -clip_value


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters flat, one after the other; recorded."""
    return _engine.cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Has each parameter take its part of ``vec``, whose memory they then share."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec)}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
