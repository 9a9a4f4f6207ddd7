"""``torch.nn.functional``: the functions that layers and lifetime stories call."""

from __future__ import annotations

import warnings
from typing import Any

from gradlife import _engine
from gradlife.engine import overrides
from gradlife.engine.tensors import Tensor

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}

relu_ = _engine.relu_


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


@overrides.asking
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials along ``dim``, divided by their sum."""
    if dim is None:
        warnings.warn(
            "Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as an argument.",
            stacklevel=_stacklevel,
        )
        dim = 0 if input.dim() in (0, 1, 3) else 1
    return _engine.softmax(input, dim, dtype=dtype)


@overrides.asking
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Replace negative elements by 0."""
    return _engine.relu_(input) if inplace else _engine.relu(input)


@overrides.asking
def _threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Replace elements that are not above ``threshold`` by ``value``."""
    if inplace:
        raise NotImplementedError("gradlife's engine has no threshold in place")
    return _engine._nn_threshold(input, threshold, value)


threshold = _threshold


def linear(input: Tensor, weight: Tensor, *bias: Any, **named: Any) -> Tensor:
    """``input @ weight.T + bias`` along the last dimension."""
    if overrides.has_torch_function((input, weight, *bias, *named.values())):
        return overrides.ask(linear, (input, weight, *bias), named or None, False)  # type: ignore[no-any-return]
    return _engine._nn_linear(input, weight, *bias, **named)


@overrides.asking
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
    """Give each channel mean 0 and variance 1, then compute ``* weight + bias``.

    In training, the input's own moments are used and the running ones move towards them by ``momentum``. ValueError: a
    channel of one element has no variance.
    """
    if training and input.numel() // input.size(1) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
    if eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive, but got {eps}")
    return _engine._nn_batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@overrides.asking
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The negative log-likelihood of the classes ``target``, from log-probabilities by class in the second dimension."""
    if size_average is not None or reduce is not None:
        raise NotImplementedError("gradlife's engine has `reduction` alone, not the deprecated arguments before it")
    return _engine._nn_nll_loss(input, target, weight, _reduction(reduction), ignore_index)


def _reduction(name: str) -> int:
    if name not in _REDUCTIONS:
        raise ValueError(f"{name} is not a valid value for reduction")
    return _REDUCTIONS[name]
