"""Modules with a matrix product."""

from __future__ import annotations

import math
from typing import Any

from gradlife import _engine
from gradlife.engine.nn import functional, init
from gradlife.engine.nn.modules.module import Module
from gradlife.engine.nn.parameter import Parameter
from gradlife.engine.tensors import Tensor


class Identity(Module):
    """Return the input; constructor arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """``input @ weight.T + bias``, with weights of shape ``(out_features, in_features)``."""

    in_features: int
    out_features: int
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(_engine.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(_engine.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and bias uniformly, at most one over the root of the number of inputs."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
