"""Activations. Those with ``inplace=True`` change their input and give it back."""

from __future__ import annotations

import warnings
from typing import Any

from gradlife import _engine
from gradlife.engine.tensors import Tensor

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """What is negative becomes 0."""
    return _engine.relu_(input) if inplace else _engine.relu(input)


def relu_(input: Tensor) -> Tensor:
    """`relu` in place."""
    return _engine.relu_(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """What is not above ``threshold`` becomes ``value``."""
    function = _engine._nn_threshold_ if inplace else _engine._nn_threshold
    return function(input, threshold, value)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place."""
    return _engine._nn_threshold_(input, threshold, value)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """What is negative is scaled by ``negative_slope``."""
    function = _engine._nn_leaky_relu_ if inplace else _engine._nn_leaky_relu
    return function(input, negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place."""
    return _engine._nn_leaky_relu_(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``alpha * (exp(x) - 1)`` for what is negative."""
    function = _engine._nn_elu_ if inplace else _engine._nn_elu
    return function(input, alpha, 1, 1)


def elu_(input: Tensor, alpha: float = 1) -> Tensor:
    """`elu` in place."""
    return _engine._nn_elu_(input, alpha, 1, 1)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the two constants that keep mean 0 and variance 1 from layer to layer."""
    function = _engine._nn_elu_ if inplace else _engine._nn_elu
    return function(input, _SELU_ALPHA, _SELU_SCALE, 1)


def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
    return _engine._nn_elu_(input, _SELU_ALPHA, _SELU_SCALE, 1)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``alpha * (exp(x / alpha) - 1)`` for what is negative."""
    function = _engine._nn_celu_ if inplace else _engine._nn_celu
    return function(input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place."""
    return _engine._nn_celu_(input, alpha)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Kept within two bounds. ValueError: the lower one is above the upper one."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    function = _engine._nn_hardtanh_ if inplace else _engine._nn_hardtanh
    return function(input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1, max_val: float = 1) -> Tensor:
    """`hardtanh` in place."""
    return _engine._nn_hardtanh_(input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Kept within 0 and 6."""
    function = _engine._nn_hardtanh_ if inplace else _engine._nn_hardtanh
    return function(input, 0, 6)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * relu6(x + 3) / 6``."""
    function = _engine._nn_hardswish_ if inplace else _engine._nn_hardswish
    return function(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``."""
    function = _engine._nn_silu_ if inplace else _engine._nn_silu
    return function(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    function = _engine._nn_mish_ if inplace else _engine._nn_mish
    return function(input)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """``x`` times the share of a normal distribution below it; ``approximate="tanh"`` for a formula with that."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _engine._nn_gelu(input, approximate == "tanh")


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` itself where ``beta * x`` is above ``threshold``."""
    return _engine._nn_softplus(input, beta, threshold)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """What is within ``lambd`` of 0 becomes 0."""
    return _engine.hardshrink(input, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Moved towards 0 by ``lambd``, but not beyond."""
    return _engine._nn_softshrink(input, lambd)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`leaky_relu` with slopes that are learned: one for all, or one for each channel (dimension 1)."""
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.numel() != 1:
        channels = input.size(1) if input.dim() > 1 else 1
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if weight.numel() != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    slope = weight.reshape(tuple(weight.numel() if dim == 1 else 1 for dim in range(input.dim())))
    return _engine.where(input > 0, input, slope * input)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(x))``, exact also far from 0."""
    return _engine._nn_log_sigmoid(input)


def _dimension(name: str, dim: int | None, dims: int) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if dims in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials that sum to 1 along ``dim``."""
    return input.softmax(_dimension("softmax", dim, input.dim()), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax` of what is negated."""
    return (-input).softmax(_dimension("softmin", dim, input.dim()), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, exact also where that is close to 0."""
    return input.log_softmax(_dimension("log_softmax", dim, input.dim()), dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random choice that gradients pass through: a softmax of noisy logits, or a one-hot with its gradient."""
    noise = -_engine.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = soft.max(dim, keepdim=True)[1]
    return _engine.zeros_like(logits).scatter_(dim, chosen, 1.0) - soft.detach() + soft
