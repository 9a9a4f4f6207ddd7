"""Find the objects that were made after a chosen moment and are still alive. `gc.freeze` hides older ones from the collector.

A check therefore costs only as much as new objects do, not everything that torch has loaded.
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
from gradlife.safe_access import LibraryObject, class_module, exact_text, is_exactly

#: Names of torch's C++ base classes: that of tensors, and those of other objects that hold memory.
TENSOR = "TensorBase"
OTHERS = ("StorageBase", "_FunctionBase")

#: The attribute that only grad nodes have.
NODE_ATTRIBUTE = "next_functions"

#: Modules that create functions and partials for each run of a test.
RUNNERS = ("_pytest.", "pluggy.", "pytest_", "xdist.", "gradlife.pytest_plugin")


@dataclass(frozen=True, slots=True)
class Boundary:
    """The objects that were new at one boundary between runs."""

    tensors: tuple[weakref.ref[Any], ...]  # new ones, found before the collector ran
    others: tuple[weakref.ref[Any], ...]  # storages, grad nodes and contexts
    collected: int  # how many tensors and others the collector freed after they were found
    plain: int  # total number of functions, frames and similar objects
    malloc: int | None  # bytes in use; None if unknown
    is_unusable: bool = False  # other code called gc.freeze or gc.unfreeze meanwhile


class NewObjects:
    """Find new objects repeatedly."""

    def __init__(self) -> None:
        self._new_marker: list[Any] = []  # made after the freeze; gc.get_objects() lacks it if other code froze objects
        self._old_marker: list[Any] = []  # made before the freeze; gc.get_objects() has it if other code unfroze them
        self._known: dict[int, weakref.ref[Any]] = {}

    @contextmanager
    def session(self) -> Iterator[None]:
        """Show only new objects until the end, then return hidden objects to the collector."""
        self._old_marker = [[]]
        gc.collect()
        gc.freeze()
        self._new_marker = [[]]
        self.start = self.boundary()
        try:
            yield
        finally:
            self._known.clear()
            gc.unfreeze()

    def boundary(self) -> Boundary:
        """Return the objects that are new since the last boundary. Then run the collector and count what it frees."""
        malloc = _heap.malloc_bytes()
        objects = gc.get_objects()
        is_unusable = not has(objects, self._new_marker) or has(objects, self._old_marker)
        tensors = self._fresh(references(objects, is_tensor))
        others = self._fresh(references(objects, is_other))
        del objects
        before = alive(self._known.values())
        gc.collect()
        collected = before - alive(self._known.values())
        plain = sum(map(is_of_program, instances(gc.get_objects(), is_plain)))
        return Boundary(tensors, others, collected, plain, malloc, is_unusable)

    def start_over(self) -> None:
        """Count everything as old, so that newly loaded code is not searched again. This also hides what the
        last run left. If the next run drops a cycle of these objects, the collector cannot free it. So the caller must
        ignore the result of the next run.
        """
        gc.collect()
        gc.freeze()
        self._new_marker = [[]]
        self._known.clear()

    def _fresh(self, found: Iterable[weakref.ref[Any]]) -> tuple[weakref.ref[Any], ...]:
        """Return the objects that are new since earlier boundaries. An address may be reused: if the object that
        was known there is dead, the one that is there now is new.
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
    """Count the references whose objects are alive."""
    return sum(one() is not None for one in references)


def has(objects: list[Any], wanted: object) -> bool:
    """Whether this very object is in the list."""
    return any(map(operator.is_, objects, itertools.repeat(wanted)))


def references(objects: list[Any], is_wanted: Callable[[type], bool]) -> Iterator[weakref.ref[Any]]:
    """Return weak references to the objects of some types."""
    for one in instances(objects, is_wanted):
        try:
            yield weakref.ref(one)
        except TypeError:
            continue


def instances(objects: list[Any], is_wanted: Callable[[type], bool]) -> Iterator[Any]:
    """Yield the objects of some types. Every test needs it, so it is fast: some 50 ns per object."""
    kinds = list(map(type, objects))
    keys = list(map(id, kinds))  # a metaclass may define __eq__ and __hash__, which must not run
    wanted = {key for key, kind in dict(zip(keys, kinds, strict=True)).items() if is_wanted(kind)}
    return itertools.compress(objects, map(wanted.__contains__, keys)) if wanted else iter(())


class Family(StrEnum):
    """The family of a torch class."""

    TENSOR = "tensor"
    OTHER = "other"  # storages, grad nodes and contexts
    NONE = ""


#: Answers by class address. The class is not kept, so another one may have its address later.
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
    has_memory = any(id(base) in above for name in OTHERS for base in native_classes(name))
    return Family.OTHER if has_memory or any(NODE_ATTRIBUTE in namespace(one) for one in line) else Family.NONE


def is_tensor(kind: type) -> bool:
    """Whether this is a tensor class."""
    return family_of(kind) is Family.TENSOR


def is_other(kind: type) -> bool:
    """Whether this is a class of storages, grad nodes or contexts."""
    return family_of(kind) is Family.OTHER


def namespace(kind: type) -> Any:
    """Return the attributes that a class itself defines."""
    return type.__dict__["__dict__"].__get__(kind)


def is_plain(kind: type) -> bool:
    """Whether this is a class of objects that can leak without tensors."""
    return full_name(kind) in LEAK_TYPES


def is_of_program(one: object) -> bool:
    """Whether this does not come from the test runner."""
    return not module_of(one).startswith(RUNNERS)


def module_of(one: object) -> str:
    """Return the module of a function, a method or a partial, if it can be read without running code."""
    while is_exactly(one, (partial, types.MethodType)):
        bound: LibraryObject = one
        one = bound.func if type(one) is partial else bound.__func__
    if type(one) is types.FunctionType:
        return exact_text(one.__globals__.get("__name__")) or ""
    return class_module(one) if type(one) is not type else ""
