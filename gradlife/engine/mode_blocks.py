"""Thread modes as ``with`` blocks and as decorators."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Self


class Modes(threading.local):
    """The entered modes of one kind and thread; ``watch`` says to the engine whether there are any."""

    def __init__(self, watch: Callable[[bool], bool]) -> None:
        self.stack: list[Any] = []
        self.watch = watch

    def push(self, mode: StackedMode) -> None:
        self.stack.append(mode)
        self.watch(True)

    def pop(self) -> Any:
        self.watch(len(self.stack) > 1)
        return self.stack.pop()

    @contextmanager
    def innermost(self) -> Iterator[Any]:
        """Give the innermost mode and leave it for a block: what it calls itself, the next one receives."""
        mode = self.pop()
        try:
            yield mode
        finally:
            self.push(mode)


class StackedMode:
    """A block that receives what runs in it. Each kind has its own ``_modes``."""

    _modes: Modes

    def __enter__(self) -> Self:
        self._modes.push(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._modes.pop()


class ModeBlock:
    """A ``with`` block that is also a decorator: the mode applies while the function runs, not while a generator waits."""

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *_: object) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """Return a new block of the same kind, for one call of a decorated function."""
        return type(self)()

    def __call__(self, function: Any) -> Any:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions "
                "or methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` "
                "method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            return _wrap_function(self.clone, function)
        return (_wrap_generator if inspect.isgeneratorfunction(function) else _wrap_function)(self.clone, function)


def _wrap_function(make_block: Callable[[], ModeBlock], function: Callable[..., Any]) -> Callable[..., Any]:
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with make_block():
            return function(*args, **kwargs)

    # otherwise a class loses its own __dict__ to the wrapper
    return functools.wraps(function, updated=() if inspect.isclass(function) else ("__dict__",))(decorated)


def _wrap_generator(make_block: Callable[[], ModeBlock], function: Callable[..., Any]) -> Callable[..., Any]:
    def resume(step: Callable[..., Any], *values: Any) -> Any:
        with make_block():
            return step(*values)

    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        try:
            answer = resume(generator.send, None)
            while True:
                try:
                    request = yield answer
                except GeneratorExit:
                    resume(generator.close)
                    raise
                except BaseException:
                    answer = resume(generator.throw, sys.exc_info()[1])
                else:
                    answer = resume(generator.send, request)
        except StopIteration as end:
            return end.value

    return decorated
