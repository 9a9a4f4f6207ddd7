"""Switching the recording of history on and off, as contexts and decorators."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Self

from gradlife import _engine
from gradlife._engine import _set_grad_enabled, is_grad_enabled
from gradlife.engine.mode_blocks import ModeBlock


class _NoParameterBlock(ModeBlock):
    """A decorator that also works without a call."""

    mode = False

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)

    def __init__(self, orig_func: Any = None) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = is_grad_enabled()
        _set_grad_enabled(self.mode)

    def __exit__(self, *_: object) -> None:
        _set_grad_enabled(self.prev)


class no_grad(_NoParameterBlock):
    """Records no history inside."""

    mode = False


class enable_grad(_NoParameterBlock):
    """Records history inside, also within ``no_grad``."""

    mode = True


class _Switch(ModeBlock):
    """A mode that is set at once, and restored at the end of the block; a decorated function sets it anew."""

    _is_set: Callable[[], bool]
    _set: Callable[[bool], object]

    def __init__(self, mode: bool) -> None:
        self.prev = self._is_set()
        self.mode = mode
        self._set(mode)

    def __enter__(self) -> None:
        self._set(self.mode)

    def __exit__(self, *_: object) -> None:
        self._set(self.prev)

    def clone(self) -> Self:
        return type(self)(self.mode)

    def __call__(self, function: Any) -> Any:
        self._set(self.prev)
        return super().__call__(function)


class set_grad_enabled(_Switch):
    """Turns recording on or off: at once, and until the end of the ``with`` block if used as one."""

    _is_set = staticmethod(is_grad_enabled)
    _set = staticmethod(_set_grad_enabled)


class inference_mode(ModeBlock):
    """Record nothing inside, and make inference tensors: without a version, and never saved for backward."""

    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.previous: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self.previous.append((_engine.is_inference_mode_enabled(), is_grad_enabled()))
        _engine._set_inference_mode(self.mode)
        _set_grad_enabled(not self.mode)

    def __exit__(self, *_: object) -> None:
        inference, grad = self.previous.pop()
        _engine._set_inference_mode(inference)
        _set_grad_enabled(grad)

    def clone(self) -> Self:
        return type(self)(self.mode)


class _Multithreading(threading.local):
    enabled = True


_multithreading = _Multithreading()


def is_multithreading_enabled() -> bool:
    """Return the last value of `set_multithreading_enabled` in this thread."""
    return _multithreading.enabled


class set_multithreading_enabled(ModeBlock):
    """Set whether a backward may use several threads. This engine always runs it in the calling thread."""

    def __init__(self, mode: bool) -> None:
        self.prev = is_multithreading_enabled()
        self.mode = mode
        _multithreading.enabled = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _multithreading.enabled = self.prev

    def clone(self) -> set_multithreading_enabled:
        return set_multithreading_enabled(self.mode)


def is_view_replay_enabled() -> bool:
    """Return whether new views of this thread record the operations that made them."""
    return _engine._is_view_replay_enabled()


class _force_original_view_tracking(_Switch):
    """Set whether new views record the operations that made them: at once, and until the end of the block.

    If their base is then changed in place, their history is rebuilt from these operations; otherwise from one
    `as_strided`.
    """

    _is_set = staticmethod(is_view_replay_enabled)
    _set = staticmethod(_engine._set_view_replay_enabled)


class _unsafe_preserve_version_counter(ModeBlock):
    """Restore tensors' versions after the block, whatever was changed in place inside."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, _engine.TensorBase) else tuple(tensors)
        self.prev_versions = tuple(tensor._version for tensor in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _engine._unsafe_set_version_counter(self.tensors, self.prev_versions)
