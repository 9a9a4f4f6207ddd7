"""Cuts one reference of the program after each step: in the process that proves, never in a hunt."""

from __future__ import annotations

import sys
from collections import deque
from types import FrameType
from typing import Any

from gradlife.hunting.cuts import CLEAR, DETACH, ITEMS, Cut


class NotThere(Exception):
    """The way leads nowhere yet, or no more."""


class Cutter:
    """Makes the same cut again and again."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._size: int | None = None  # of the container when it was first seen
        self.count = 0  # how often something was cut

    def cut(self) -> None:
        """Once; nothing where the way is not there."""
        try:
            self._make()
            self.count += 1
        except (NotThere, AttributeError, KeyError, IndexError, TypeError, ValueError, RuntimeError):
            return

    def _make(self) -> None:
        if self._cut.how == ITEMS:
            self._drop_items(follow(root_of(self._cut.root), self._cut.hops))
        elif self._cut.how == DETACH:
            detach(self._cut)
        elif self._cut.how == CLEAR:
            clear(self._cut)

    def _drop_items(self, container: Any) -> None:
        if self._size is None:
            self._size = len(container)
        while len(container) > self._size:
            drop_last(container)


def drop_last(container: Any) -> None:
    """Takes the newest item out of a container, without asking a class of the program."""
    takes: tuple[tuple[type, Any], ...] = ((list, list.pop), (deque, deque.pop), (dict, dict.popitem), (set, set.pop))
    take = next((take for kind, take in takes if isinstance(container, kind)), None)
    if take is None:
        raise NotThere
    take(container)


def detach(cut: Cut) -> None:
    """Takes the graph off a tensor where it is; a view cannot be, and is replaced."""
    tensor = follow(root_of(cut.root), cut.hops)
    try:
        tensor.detach_()
    except RuntimeError:
        put(cut, tensor.detach())


def clear(cut: Cut) -> None:
    """Puts None in its place."""
    put(cut, None)


def put(cut: Cut, value: object) -> None:
    """Another value in the place that the last reference stands for."""
    holder = follow(root_of(cut.root), cut.hops[:-1])
    relation, label, index = cut.hops[-1]
    if relation == "dict_value":
        holder[key_of(holder, label)] = value
    elif relation in {"attribute", "slot"}:
        object.__setattr__(holder, label, value)
    elif relation == "item" and isinstance(holder, list):
        holder[index] = value
    else:
        raise NotThere


def root_of(text: str) -> Any:
    """The module, or the frame that runs a function of this name."""
    kind, _, name = text.partition(" ")
    if kind == "module":
        return sys.modules[name]
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_qualname == name:
            return frame
        frame = frame.f_back
    raise NotThere


def follow(start: Any, hops: tuple[tuple[str, str, int], ...]) -> Any:
    """The object that a way leads to."""
    at = start
    for relation, label, index in hops:
        at = next_object(at, relation, label, index)
    return at


def next_object(at: Any, relation: str, label: str, index: int) -> Any:
    """What one reference leads to."""
    if relation == "local":
        return at.f_locals[label.removeprefix("argument ")]
    if relation == "internal" and label == "f_locals":
        return at.f_locals
    if relation == "dict_value":
        return at[key_of(at, label)]
    if relation == "item":
        return at[index]
    if relation == "cell":
        return at.cell_contents
    if label == "its C++ object":
        return at
    if relation in {"attribute", "slot"}:
        return object.__getattribute__(at, label)
    return getattr(at, "_backward_hooks" if label == "hook table" else label.partition(":")[0])


def key_of(container: Any, label: str) -> Any:
    """The key that a label tells of."""
    for key in list(container):
        if label in (repr(key), f"'{key}'", f"<{type(key).__qualname__}>"):
            return key
    raise NotThere
