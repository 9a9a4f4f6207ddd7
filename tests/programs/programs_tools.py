"""Tools for programs that run on the mini engine and on PyTorch: each takes a framework and returns plain values."""

from __future__ import annotations

import gc
import inspect
import re
import weakref
from collections.abc import Callable, Iterable
from typing import Any

Program = Callable[[Any], Any]


def programs_in(names: dict[str, Any]) -> list[Program]:
    """The functions of a module whose only parameter is ``fw``."""
    own = [item for item in names.values() if inspect.isfunction(item) and item.__module__ == names["__name__"]]
    return [item for item in own if list(inspect.signature(item).parameters) == ["fw"]]


def attempt(function: Callable[[], Any]) -> str:
    """Return "ok", or the type and the first line of the call's error without addresses and source places."""
    try:
        function()
    except Exception as error:
        first = f"{type(error).__name__}: {error}".split("\n")[0]
        return re.sub(r"0x[0-9a-f]+", "0x", first).strip()
    return "ok"


def vector(fw: Any, *values: float, requires_grad: bool = True) -> Any:
    return fw.tensor(list(values) or [2.0], requires_grad=requires_grad)


def values(items: Iterable[Any]) -> list[Any]:
    return [item if item is None else item.tolist() for item in items]


class Mark:
    """Something that a weak reference can watch."""


def watch(*objects: Any) -> list[Any]:
    return [weakref.ref(item) for item in objects]


def fates(build: Callable[[], list[Any]]) -> list[str]:
    """For each weak reference that ``build`` returns: "del", "gc" or "alive", once all its names are gone."""
    gc.collect()
    gc.disable()
    try:
        references = build()
        dead_at_once = [reference() is None for reference in references]
        gc.collect()
        gc.collect()
        dead_now = [reference() is None for reference in references]
    finally:
        gc.enable()
    return ["del" if once else "gc" if now else "alive" for once, now in zip(dead_at_once, dead_now, strict=True)]


def function(fw: Any, forward: Any, backward: Any, name: str = "Custom") -> Any:
    """A custom Function of these two static methods."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (fw.autograd.Function,), members)


def hooks(fw: Any, pack: Any, unpack: Any) -> Any:
    return fw.autograd.graph.saved_tensors_hooks(pack, unpack)


def same(value: Any) -> Any:
    return value


def mark_on_the_node_of(tensor: Any) -> Any:
    """A weak reference to something that lives as long as the tensor's node."""
    mark = Mark()
    tensor.grad_fn.metadata["mark"] = mark
    return weakref.ref(mark)
