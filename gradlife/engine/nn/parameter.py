"""A tensor that is a parameter of a module."""

from __future__ import annotations

from typing import Any

from gradlife.engine.tensors import Tensor


class Parameter(Tensor):
    """A leaf that requires grad unless told otherwise."""

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        tensor = data if isinstance(data, Tensor) else Tensor()
        return Tensor._make_subclass(cls, tensor.detach(), requires_grad)
