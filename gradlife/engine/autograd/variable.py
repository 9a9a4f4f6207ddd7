"""Variable, an alias of Tensor since 0.4, and its engine object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradlife import _engine
from gradlife.engine.autograd.validity import is_checkpoint_valid
from gradlife.engine.tensors import Tensor


class _ImperativeEngine:
    """The type of ``Variable._execution_engine``."""

    def queue_callback(self, callback: Callable[[], object]) -> None:
        """Calls ``callback`` once, after the last node of the backward that is running."""
        _engine._queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Return whether a reentrant checkpoint may run in the backward that is running."""
        return is_checkpoint_valid()


class VariableMeta(type):
    """Makes every tensor an instance of Variable."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """Called, it returns a tensor that shares ``data``'s memory and has no history."""

    _execution_engine = _ImperativeEngine()

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Any:
        tensor = data.detach()
        return tensor.requires_grad_() if requires_grad else tensor
