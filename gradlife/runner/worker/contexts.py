"""The contexts that a story may run in."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable


class BrokenOff(Exception):
    """Raised in the middle of a backward, and caught by its caller."""


def forward_within(context: str, fw: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a function in a context; contexts about backward call it directly."""
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
    """Run under a checkpoint that runs a backward inside the backward."""
    checkpoint = fw.utils.checkpoint.checkpoint
    try:
        return checkpoint(function, *args, use_reentrant=True)
    except (TypeError, ValueError):  # unexpected keyword: every checkpoint of that release is reentrant
        return checkpoint(function, *args)


def in_a_thread(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a function in a new thread and wait for its end."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*args)))
    thread.start()
    thread.join()
    if not results:
        raise RuntimeError("the function raised in its thread")
    return results.pop()


def backward_within(context: str, output: Any) -> None:
    """Run backward from the sum of an output, if the context has a backward."""
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
    """Raise: a hook."""
    raise BrokenOff
