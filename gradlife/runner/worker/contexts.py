"""The circumstances that one and the same story may run in."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable


class BrokenOff(Exception):
    """Raised in the midst of a backward, and caught by whoever called it."""


def forward_within(context: str, fw: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a function as a context wants it; those that are about the backward call it plainly."""
    if context == "no_grad":
        with fw.no_grad():
            return function(*args)
    if context == "checkpoint":
        return fw.utils.checkpoint.checkpoint(function, *args, use_reentrant=False)
    if context == "reentrant":
        return reentrant(fw, function, args)
    if context == "thread":
        return in_a_thread(function, args)
    if context == "compile":
        return fw.compile(function, backend="eager")(*args)
    return function(*args)


def reentrant(fw: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Under a checkpoint that runs a backward inside the backward."""
    checkpoint = fw.utils.checkpoint.checkpoint
    try:
        return checkpoint(function, *args, use_reentrant=True)
    except (TypeError, ValueError):  # an unexpected keyword: every checkpoint is reentrant there
        return checkpoint(function, *args)


def in_a_thread(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a function in a new thread, which has ended when this returns."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*args)))
    thread.start()
    thread.join()
    if not results:
        raise RuntimeError("the function raised in its thread")
    return results.pop()


def backward_within(context: str, output: Any) -> None:
    """Run backward from the sum of an output, if the context has one."""
    if context in ("skipped", "no_grad") or not output.requires_grad:
        return
    loss = output.sum()
    if context != "exception":
        loss.backward()
        return
    loss.register_hook(break_off)
    with contextlib.suppress(BrokenOff, RuntimeError):
        loss.backward()


def break_off(gradient: Any) -> None:
    """A hook that raises."""
    raise BrokenOff
