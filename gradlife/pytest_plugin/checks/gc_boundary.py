"""Objects made since a moment and still alive. Older objects are hidden from the collector by `gc.freeze`.

A check therefore costs what is new, not what torch has loaded.
"""

from __future__ import annotations

import gc
import itertools
import operator
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from gradlife import _heap
from gradlife.hunting.snapshots.node_weights import LEAK_TYPES
from gradlife.hunting.snapshots.step_snapshots import full_name, native_classes

#: The classes of what carries memory of torch's, by their names in C++.
TENSOR = "TensorBase"
OTHERS = ("StorageBase", "_FunctionBase")

#: The attribute that only grad nodes have.
NODE_ATTRIBUTE = "next_functions"

#: Who makes functions and partials of its own for each run of a test.
RUNNERS = ("_pytest.", "pluggy.", "pytest_", "xdist.", "gradlife.pytest_plugin")


@dataclass(frozen=True, slots=True)
class Boundary:
    """The boundary between old and new objects."""

    tensors: tuple[weakref.ref[Any], ...]  # before the collector ran
    others: tuple[weakref.ref[Any], ...]  # storages, grad nodes and contexts
    collected: int  # of all of these that there ever were, the collector freed so many
    plain: int  # functions, frames and such: how many there are of all times
    malloc: int | None  # bytes in use; None where that is unknown
    is_blind: bool = False  # somebody else froze or thawed the collector meanwhile


class Young:
    """Looks at what was made since a moment, again and again."""

    def __init__(self) -> None:
        self._new: list[Any] = []
        self._old: list[Any] = []  # hidden from the collector
        self._known: dict[int, weakref.ref[Any]] = {}

    @contextmanager
    def session(self) -> Iterator[None]:
        """Show only new objects from here on; at the end, give the collector back what was hidden."""
        self._old = [[]]
        gc.collect()
        gc.freeze()
        self._new = [[]]
        self.start = self.boundary()
        try:
            yield
        finally:
            self._known.clear()
            gc.unfreeze()

    def boundary(self) -> Boundary:
        """Return what is new since the last boundary, and how much of it and of older objects the collector then
        frees.
        """
        malloc = _heap.malloc_bytes()
        objects = gc.get_objects()
        is_blind = not has(objects, self._new) or has(objects, self._old)
        tensors = self._fresh(references(objects, is_tensor))
        others = self._fresh(references(objects, is_carrier))
        del objects
        before = alive(self._known.values())
        gc.collect()
        collected = before - alive(self._known.values())
        plain = sum(map(is_of_program, instances(gc.get_objects(), is_plain)))
        return Boundary(tensors, others, collected, plain, malloc, is_blind)

    def begin_again(self) -> None:
        """Count everything as old: what was loaded meanwhile is not searched again. An uncounted run must follow,
        because its cycles are hidden from the collector, too.
        """
        gc.collect()
        gc.freeze()
        self._new = [[]]
        self._known.clear()

    def _fresh(self, found: Iterable[weakref.ref[Any]]) -> tuple[weakref.ref[Any], ...]:
        """Return the objects that were not there at an earlier boundary. Addresses are reused, so an old one must be
        alive.
        """
        fresh = []
        for one in found:
            address = id(one())
            known = self._known.get(address)
            if known is None or known() is None:
                fresh.append(one)
                self._known[address] = one
        return tuple(fresh)


def alive(references: Iterable[weakref.ref[Any]]) -> int:
    """Count the references that are alive."""
    return sum(one() is not None for one in references)


def has(objects: list[Any], wanted: object) -> bool:
    """Is this very object among these?"""
    return any(map(operator.is_, objects, itertools.repeat(wanted)))


def references(objects: list[Any], is_wanted: Callable[[type], bool]) -> Iterator[weakref.ref[Any]]:
    """Weak references to the objects of some types."""
    for one in instances(objects, is_wanted):
        try:
            yield weakref.ref(one)
        except TypeError:
            continue


def instances(objects: list[Any], is_wanted: Callable[[type], bool]) -> Iterator[Any]:
    """The objects of some types. Some 50 ns an object: every test's are looked through."""
    kinds = list(map(type, objects))
    keys = list(map(id, kinds))  # a metaclass may compare its classes with code of its own
    wanted = {key for key, kind in dict(zip(keys, kinds, strict=True)).items() if is_wanted(kind)}
    return itertools.compress(objects, map(wanted.__contains__, keys)) if wanted else iter(())


class Family(StrEnum):
    """The family of a torch class."""

    TENSOR = "tensor"
    CARRIER = "carrier"  # of memory of torch's, but no tensor: storages, grad nodes, contexts
    NONE = ""


#: Answers for classes that were asked about, by address. The class is not kept, so another one may be there by now.
_families: dict[int, tuple[weakref.ref[type], Family]] = {}


def family_of(kind: type) -> Family:
    """Return the family of a class, from a cache."""
    known = _families.get(id(kind))
    if known is None or known[0]() is not kind:
        known = _families[id(kind)] = (weakref.ref(kind), found_family(kind))
    return known[1]


def found_family(kind: type) -> Family:
    """Find the family of a class from its bases, without calling its metaclass."""
    line = type.__dict__["__mro__"].__get__(kind)
    above = {id(one) for one in line}
    if any(id(base) in above for base in native_classes(TENSOR)):
        return Family.TENSOR
    is_other = any(id(base) in above for name in OTHERS for base in native_classes(name))
    return Family.CARRIER if is_other or any(NODE_ATTRIBUTE in namespace(one) for one in line) else Family.NONE


def is_tensor(kind: type) -> bool:
    """Is this a class of tensors?"""
    return family_of(kind) is Family.TENSOR


def is_carrier(kind: type) -> bool:
    """Is this a class of storages, grad nodes or contexts?"""
    return family_of(kind) is Family.CARRIER


def namespace(kind: type) -> Any:
    """Return the attributes that a class itself defines."""
    return type.__dict__["__dict__"].__get__(kind)


def is_plain(kind: type) -> bool:
    """Is this a class of what leaks without tensors?"""
    return full_name(kind) in LEAK_TYPES


def is_of_program(one: object) -> bool:
    """Does this come from elsewhere than what runs tests?"""
    return not module_of(one).startswith(RUNNERS)


def module_of(one: Any) -> str:
    """Return the module of a function, a method or a partial, if it can be read without running code."""
    while type(one) in (partial, types.MethodType):
        one = one.func if type(one) is partial else one.__func__
    if type(one) is types.FunctionType:
        return str(one.__globals__.get("__name__", ""))
    return str(getattr(type(one), "__module__", "")) if type(one) is not type else ""
