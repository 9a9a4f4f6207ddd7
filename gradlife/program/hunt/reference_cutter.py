"""Cuts references of the program after each step, to prove that they cause a leak."""

from __future__ import annotations

import functools
import gc
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from types import CellType, FrameType, MappingProxyType
from typing import Any

from gradlife.errors import UsageError
from gradlife.heap.torch_layout.labels import ARGUMENT, HOOK_TABLE, ITS_IMPL
from gradlife.hunting.findings.reference_cuts import (
    CACHE,
    CLEAR,
    DETACH,
    EVERY,
    HOOKS,
    ITEMS,
    RESTORE,
    Cut,
    cuts_of,
    text_of,
)
from gradlife.model.hunt import Finding
from gradlife.program.trial import without_modes
from gradlife.safe_access import class_name, is_a, is_exactly, loaded

Hops = tuple[tuple[str, str, int], ...]


def cutter_of(finding: Finding) -> Cutter:
    """Return a cutter for what keeps a finding's survivors, after a first cut; UsageError if nothing can be cut."""
    found = cuts_of(finding)
    if not found:
        raise UsageError("no variable of the program leads to it: there is nothing to cut from outside", "why N")
    cutter = Cutter(found)
    cutter.cut()  # items that the container has now stay in it
    return cutter


def cutting(cuts: Sequence[Cut], step: Callable[[], bool]) -> Callable[[], bool]:
    """Return a step function that first cuts references."""
    cutter = Cutter(cuts)

    def cut_and_step() -> bool:
        cutter.cut()
        return step()

    return cut_and_step


class NotThere(Exception):
    """The path leads nowhere yet, or no longer."""


class Cutter:
    """Makes the same cuts again and again."""

    def __init__(self, cuts: Sequence[Cut]) -> None:
        self._text = text_of(cuts)
        self._places = [PlaceCutter(one) for one in cuts]

    @property
    def count(self) -> int:
        """The number of cuts made."""
        return sum(one.count for one in self._places)

    @property
    def promise(self) -> str:
        """Describe the cuts for the report of the proving run."""
        return f"from now on: {self._text}; `step N` tells what is still added"

    def cut(self) -> None:
        """Make the cuts; nothing is done where a path does not exist."""
        for one in self._places:
            one.cut()


class PlaceCutter:
    """A place where a reference is cut again and again."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._sizes: dict[int, int] | None = None  # of the container at the first cut, and of those in it, by their ids
        self._first: tuple[Any, ...] = ()  # what the reference led to at the first cut
        self._old: frozenset[int] | None = None  # ids of objects of the type at the first cut
        self.count = 0  # number of cuts made

    def cut(self) -> None:
        """Make the cut; do nothing if the path does not exist."""
        for start, hops in (branch for root in self._starts() for branch in branches(root, self._cut.hops)):
            try:
                with without_modes():
                    self._make(start, hops)
                self.count += 1
            except (NotThere, AttributeError, KeyError, IndexError, TypeError, ValueError, RuntimeError):
                continue

    def _starts(self) -> Iterator[Any]:
        """Yield the objects where the path starts: the one root, or all new objects of a type."""
        kind, _, name = self._cut.root.partition(" ")
        if kind != "each":
            try:
                yield root_of(self._cut.root)
            except (NotThere, KeyError):
                return
            return
        found = [one for one in gc.get_objects() if type_name(type(one)) == name]
        if self._old is None:
            self._old = frozenset(map(id, found))
        yield from (one for one in found if id(one) not in self._old)

    def _make(self, start: Any, hops: Hops) -> None:
        if self._cut.how == ITEMS:
            self._drop_items(follow(start, hops))
        elif self._cut.how == DETACH:
            detach(start, hops)
        elif self._cut.how == CLEAR:
            clear(start, hops)
        elif self._cut.how == RESTORE:
            self._set_back(start, hops)
        elif self._cut.how == HOOKS:
            follow(start, hops).clear()
        elif self._cut.how == CACHE and is_a(cached := follow(start, hops), type(CACHED)):
            type(CACHED).cache_clear(cached)

    def _set_back(self, start: Any, hops: Hops) -> None:
        """Let the reference lead to what it led to at first. A container loses its new items; what else grows in place goes."""
        now = follow(start, hops)
        if not self._first:
            self._first = (now,)
        if is_a(now, KINDS):
            self._drop_items(now)
        elif now is not self._first[0]:
            put(start, hops, self._first[0])
        elif self.count:
            put(start, hops, None)

    def _drop_items(self, container: Any) -> None:
        """Drop what is new in a container, and in the containers that were in it: the lists of a dict."""
        if self._sizes is None:
            self._sizes = {-1: size_of(container), **{id(one): size_of(one) for one in containers_in(container)}}
        shrink(container, self._sizes[-1])
        for one in containers_in(container):
            shrink(one, self._sizes.get(id(one), size_of(one)))


#: A function with a cache in C.
CACHED = functools.lru_cache(type)

#: The containers, with what removes the newest item (of a set, any item) and what tells the length.
CONTAINERS: tuple[tuple[type, Callable[[Any], object], Callable[[Any], int]], ...] = (
    (OrderedDict, OrderedDict.popitem, OrderedDict.__len__),
    (list, list.pop, list.__len__),
    (deque, deque.pop, deque.__len__),
    (dict, dict.popitem, dict.__len__),
    (set, set.pop, set.__len__),
)
KINDS = tuple(kind for kind, *_ in CONTAINERS)


def branches(start: Any, hops: Hops) -> Iterator[tuple[Any, Hops]]:
    """Yield the object where a path begins with the path; of one through every item of a container, each item with its rest."""
    at = next((number for number, hop in enumerate(hops) if hop[1] == EVERY), None)
    if at is None:
        yield start, hops
        return
    try:
        items = items_in(follow(start, hops[:at]))
    except (NotThere, AttributeError, KeyError, IndexError, TypeError, ValueError, RuntimeError):
        return
    yield from ((item, hops[at + 1 :]) for item in items)


def items_in(container: Any) -> list[Any]:
    """Return the items of a container, or the values of a dict, without methods of the program's classes."""
    if is_a(container, dict):
        return list(dict.values(container))
    for kind in (list, tuple, deque, set):
        if is_a(container, kind):
            return list(kind.__iter__(container))
    raise NotThere


def containers_in(container: Any) -> list[Any]:
    """Return the items of a container that are containers themselves."""
    return [one for one in items_in(container) if is_a(one, KINDS)]


def shrink(container: object, size: int) -> None:
    """Remove the newest items of a container until it is as long as it was."""
    while size_of(container) > size:
        drop_last(container)


def clear(start: Any, hops: Hops) -> None:
    """Set the last reference of the path to None; what a cached property has computed is forgotten, as `del` does."""
    *before, (relation, label, _) = hops
    if relation == "dict_value" and before and before[-1][1] == "__dict__":
        owner = type(follow(start, tuple(before[:-1])))
        name = label.strip("'")
        if type(class_attribute(owner, name)) is functools.cached_property:
            dict.pop(follow(start, tuple(before)), name, None)
            return
    put(start, hops, None)


def class_attribute(kind: type, name: str) -> object:
    """Return what a class or one of its bases has under a name, without running its metaclass."""
    tables = (type.__dict__["__dict__"].__get__(base) for base in type.__dict__["__mro__"].__get__(kind))
    return next((table[name] for table in tables if name in table), None)


def drop_last(container: object) -> None:
    """Remove the newest item of a container, without running methods of the program's classes."""
    methods_of(container)[0](container)


def size_of(container: object) -> int:
    """Return the length of a container, without its `__len__`."""
    return methods_of(container)[1](container)


def methods_of(container: object) -> tuple[Callable[[Any], object], Callable[[Any], int]]:
    """Return what removes an item of a container, and what tells its length."""
    for kind, take, length in CONTAINERS:
        if is_a(container, kind):
            return take, length
    raise NotThere


def detach(start: Any, hops: Hops) -> None:
    """Detach a tensor from its graph in place; a view cannot be detached, and is replaced."""
    tensor = follow(start, hops)
    try:
        tensor.detach_()
    except RuntimeError:
        put(start, hops, tensor.detach())


def put(start: Any, hops: Hops, value: object) -> None:
    """Assign another value to the last reference of the path."""
    holder = follow(start, hops[:-1])
    relation, label, index = hops[-1]
    if relation == "dict_value":
        dict.__setitem__(holder, key_of(holder, label), value)
    elif relation in {"attribute", "slot"}:
        object.__setattr__(holder, label, value)
    elif relation == "item" and is_a(holder, list):
        list.__setitem__(holder, index, value)
    elif relation == "cell":
        holder.cell_contents = value
    else:
        raise NotThere


def type_name(kind: type) -> str:
    """Return the name of a type as traces show it, without running its metaclass."""
    module = type.__dict__["__module__"].__get__(kind)
    qualified = type.__dict__["__qualname__"].__get__(kind)
    return qualified if module == "builtins" else f"{module}.{qualified}"


def root_of(text: str) -> Any:
    """Return the named module, or the innermost frame that runs a function of this name."""
    kind, _, name = text.partition(" ")
    if kind == "module":
        found = loaded(name)
        if found is None:
            raise NotThere
        return found
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_qualname == name:
            return frame
        frame = frame.f_back
    raise NotThere


def follow(start: Any, hops: Hops) -> Any:
    """Return the object that a path leads to."""
    at = start
    for relation, label, index in hops:
        at = next_object(at, relation, label, index)
    return at


def next_object(at: object, relation: str, label: str, index: int) -> Any:
    """Return the object that one reference leads to."""
    if relation == "local" and type(at) is FrameType:
        return at.f_locals[label.removeprefix(ARGUMENT)]
    if relation == "internal" and label == "f_locals" and type(at) is FrameType:
        return at.f_locals
    if relation == "dict_value" and is_a(at, dict):
        return value_of(at, label)
    if relation == "dict_value" and type(at) is MappingProxyType:
        return at[label.strip("'")]
    if relation == "item":
        return item_of(at, index)
    if relation == "cell" and type(at) is CellType:
        return at.cell_contents
    if label == ITS_IMPL:
        return at
    name = "_backward_hooks" if label == HOOK_TABLE else label.partition(":")[0]
    return object.__getattribute__(at, label if relation in {"attribute", "slot"} else name)


def key_of(container: Any, label: str) -> Any:
    """Return the key that a label describes."""
    for key in list(dict.keys(container)):
        if label in key_texts(key):
            return key
    raise NotThere


def value_of(container: Any, label: str) -> object:
    """Return the value of the key that a label describes, without the key's `__hash__`."""
    for key, value in list(dict.items(container)):
        if label in key_texts(key):
            return value
    raise NotThere


def key_texts(key: object) -> Iterator[str]:
    """Yield how labels show a key."""
    if is_exactly(key, (str, int, bool, type(None))):
        yield from (repr(key), f"'{key}'")
    elif type(key) is tuple:
        yield f"({', '.join(next(key_texts(part)) for part in key)})"
    else:
        yield f"<{class_name(key)}>"


def item_of(container: Any, index: int) -> object:
    """Return an item of a sequence, without its `__getitem__`."""
    for kind in (list, tuple, deque):
        if is_a(container, kind):
            item: object = kind.__getitem__(container, index)
            return item
    raise NotThere
