"""Switching the recording of history on and off, as contexts and decorators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from gradlife._engine import _set_grad_enabled, is_grad_enabled

_Function = TypeVar("_Function", bound=Callable[..., Any])


class set_grad_enabled:
    """Turns recording on or off: at once, and until the end of the ``with`` block if used as one."""

    def __init__(self, mode: bool) -> None:
        self.previous = is_grad_enabled()
        self.mode = mode
        _set_grad_enabled(mode)

    def __enter__(self) -> None:
        _set_grad_enabled(self.mode)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _set_grad_enabled(self.previous)

    def __call__(self, function: _Function) -> _Function:
        _set_grad_enabled(self.previous)
        return _decorated(function, self.mode)


class _GradModeBlock:
    mode = False

    def __init__(self, function: Any = None) -> None:
        self.previous: list[bool] = []

    def __new__(cls, function: Any = None) -> Any:
        return _decorated(function, cls.mode) if callable(function) else super().__new__(cls)

    def __enter__(self) -> None:
        self.previous.append(is_grad_enabled())
        _set_grad_enabled(self.mode)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _set_grad_enabled(self.previous.pop())

    def __call__(self, function: _Function) -> _Function:
        return _decorated(function, self.mode)


class no_grad(_GradModeBlock):
    """Records no history inside."""

    mode = False


class enable_grad(_GradModeBlock):
    """Records history inside, also within ``no_grad``."""

    mode = True


class inference_mode(_GradModeBlock):
    """Here the same as ``no_grad``: tensors made inside stay ordinary ones."""

    mode = False


def _decorated(function: _Function, mode: bool) -> _Function:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        previous = is_grad_enabled()
        _set_grad_enabled(mode)
        try:
            return function(*args, **kwargs)
        finally:
            _set_grad_enabled(previous)

    return wrapper  # type: ignore[return-value]
