"""``torch._check`` and its kin: conditions that raise with a text of the caller's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["_check", "_check_index", "_check_not_implemented", "_check_type", "_check_value"]


def _check_with(error: type[Exception], cond: Any, message: Callable[[], Any] | None) -> None:
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
        )
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error(str(message()))


def _check(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raises RuntimeError unless ``cond``."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raises IndexError unless ``cond``."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raises ValueError unless ``cond``."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raises TypeError unless ``cond``."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raises NotImplementedError unless ``cond``."""
    _check_with(NotImplementedError, cond, message)
