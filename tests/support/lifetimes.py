"""Small programs whose objects are watched as they go: with their last name, at a collection, or never."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import gradlife.engine as torch

RELEASES = ("torch-1.1", "torch-1.2", "torch-1.10", "torch-2.13")
EVERY_PROFILE = (*RELEASES, "oneflow-0.8", "oneflow-0.9")

T = TypeVar("T")
Watched = tuple[object, Callable[[], object]]


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """Nothing goes inside the block but what its last reference lets go."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def verdict(build: Callable[[], Watched]) -> str:
    """Return the lifetime of an object once all that `build` keeps is dropped: "del", "gc" or "never"."""
    with collector_off():
        kept, watched = build()
        assert watched() is not None
        del kept
        if watched() is None:
            return "del"
        gc.collect()
        gc.collect()
        return "gc" if watched() is None else "never"


@contextlib.contextmanager
def unraisable_errors() -> Iterator[list[str]]:
    """The texts of exceptions that nobody could be given, raised inside the block."""
    texts: list[str] = []
    previous = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: texts.append(str(unraisable.exc_value))
    try:
        yield texts
    finally:
        sys.unraisablehook = previous


def failure(call: Callable[[], object]) -> str:
    """The type and text of the error that `call` raises; nothing of it is kept."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("nothing was raised")


def in_threads(*calls: Callable[[], T]) -> list[T]:
    """The results of these calls, each made in a thread of its own, all at once. What one raises is raised here."""
    results: list[Any] = [None] * len(calls)

    def run(index: int) -> None:
        try:
            results[index] = calls[index]()
        except BaseException as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


class Canary:
    """Can be watched weakly, and calls `at_death` when it goes."""

    def __init__(self, at_death: Callable[[], None] | None = None) -> None:
        self.at_death = at_death

    def __del__(self) -> None:
        if self.at_death is not None:
            self.at_death()


def leaf(*values: float) -> Any:
    """A leaf that requires grad, of these values (two ones by default)."""
    return torch.tensor(list(values or (1.0, 1.0)), requires_grad=True)


def nothing(*ignored: Any) -> None:
    """Does nothing, with any arguments."""


def doubling(
    in_forward: Callable[[Any, Any, Any], None] = nothing, in_backward: Callable[[Any], None] = nothing
) -> Any:
    """A Function `F` that doubles; `in_forward(ctx, x, y)` and `in_backward(ctx)` run where their names say."""

    class F(torch.autograd.Function):
        context: Any  # of the last application, weakly

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            F.context = weakref.ref(ctx)
            y = x * 2
            in_forward(ctx, x, y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            in_backward(ctx)
            return grad * 2

    return F


def save_input(ctx: Any, x: Any, y: Any) -> None:
    ctx.save_for_backward(x)


def save_output(ctx: Any, x: Any, y: Any) -> None:
    ctx.save_for_backward(y)


def keep_output(ctx: Any, x: Any, y: Any) -> None:
    ctx.y = y


def apply_and_watch(function: Any, runs_backward: bool = False) -> Watched:
    """An output of `function` to keep, and its context, watched weakly."""
    y = function.apply(leaf())
    if runs_backward:
        y.sum().backward()
    return y, function.context
