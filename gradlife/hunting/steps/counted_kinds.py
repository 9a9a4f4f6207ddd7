"""Wrappers that count the calls of coroutine functions, generator functions and asynchronous generator functions.

Each is of the kind of its function, as frameworks ask for the kind. A generator counts when it ends or is closed.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any

from gradlife.hunting.steps.compiler import TRACED

#: The wrappers use no global names: their globals are the function's, where frameworks look up the names of annotations.
SOURCE = """\
def make(function, enter, is_outermost, count):
    async def coroutine(*args, **kwargs):
        with enter() as is_step:
            result = await function(*args, **kwargs)
        if is_step:
            count()
        return result

    def generator(*args, **kwargs):
        is_step = is_outermost()
        try:
            result = yield from function(*args, **kwargs)
        except GeneratorExit:
            if is_step:
                count()
            raise
        if is_step:
            count()
        return result

    async def async_generator(*args, **kwargs):
        is_step = is_outermost()
        inner = function(*args, **kwargs)
        try:
            value = await anext(inner)
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    await inner.aclose()
                    if is_step:
                        count()
                    raise
                except BaseException as error:
                    value = await inner.athrow(error)
                else:
                    value = await inner.asend(sent)
        except StopAsyncIteration:
            pass
        if is_step:
            count()

    return coroutine, generator, async_generator
"""

#: What tells the kind of a function, in the order of the wrappers.
KINDS = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)

CODE = compile(SOURCE, TRACED, "exec")


def wrapper_of_kind(
    function: Callable[..., Any], enter: Callable[[], AbstractContextManager[bool]], count: Callable[[], object]
) -> Callable[..., Any] | None:
    """Return a wrapper of the function's kind; None if it is an ordinary function.

    ``enter`` tells whether a coroutine is within no other call; ``count`` is called at the end of a call that is not.
    """
    names: dict[str, Any] = {}
    exec(CODE, names)
    wrappers = names["make"](function, enter, is_outermost, count)
    return next((one for is_kind, one in zip(KINDS, wrappers, strict=True) if is_kind(function)), None)


def is_outermost() -> bool:
    """Whether the generator that calls this runs within no other one: a walk over a tree is a generator of generators."""
    own = sys._getframe(1)
    frame = own.f_back
    while frame is not None and frame.f_code is not own.f_code:
        frame = frame.f_back
    return frame is None


def dressed(wrapper: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the wrapper with the function's name, attributes and globals."""
    if type(function) is FunctionType and type(wrapper) is FunctionType:
        wrapper = FunctionType(wrapper.__code__, function.__globals__, wrapper.__name__, None, wrapper.__closure__)
    return functools.update_wrapper(wrapper, function)
