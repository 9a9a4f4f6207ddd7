"""Thread modes as ``with`` blocks and as decorators."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Generator
from typing import Any

__all__ = ["ModeBlock"]


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
