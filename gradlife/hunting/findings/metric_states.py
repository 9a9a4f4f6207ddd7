"""States of a metric: what it keeps from every update on purpose, until its own `reset()` empties it.

Recognized by what the class does, not by its name: it has `update`, `compute` and `reset`, and `reset` empties the place that
grows. Code of the program is read and not run.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence, Set
from types import CodeType, FunctionType
from typing import Any

from gradlife import _heap
from gradlife.hunting.snapshots.live_objects import live_objects
from gradlife.hunting.stores.place import PlaceKind, place_at
from gradlife.model.growth import Growth, GrowthKind
from gradlife.model.trace import PathStep
from gradlife.safe_access import attributes, is_a, member

#: Methods of a metric.
PROTOCOL = ("update", "compute", "reset")


def is_metric_state(graph: _heap.Graph, steps: Sequence[PathStep], spans: Sequence[Set[int]], growth: Growth) -> bool:
    """Whether what grows is an attribute of a metric that its `reset()` empties: a container, or a tensor that gets longer.

    ``spans``: the nodes of steps.
    """
    at = len(steps) - 1 if growth.kind is GrowthKind.LARGER else growth.step
    if growth.kind not in {GrowthKind.CONTAINER, GrowthKind.LARGER} or not at:
        return False
    owner = at - 1
    place = place_at(steps[owner])
    kind = class_named(steps[owner].type)
    if place is None or place.kind is not PlaceKind.ATTRIBUTE or kind is None:
        return False
    if any(next(methods(kind, name), None) is None for name in PROTOCOL):
        return False
    resets = [method.__code__ for method in methods(kind, "reset")]
    if any(empties(code, place.name) for code in resets):
        return True
    sets_by_name = any("setattr" in code.co_names or "__setattr__" in code.co_names for code in resets)
    return sets_by_name and is_declared(graph, spans[owner], kind, place.name)


def class_named(name: str) -> Any:
    """Return the class of this full name, if its module is loaded and has it."""
    module, _, short = name.rpartition(".")
    kind = member(module, short)
    return kind if is_a(kind, type) else None


def methods(kind: type, name: str) -> Iterator[FunctionType]:
    """Yield the function that a call of this method runs, and those of bases that it calls through `super()`."""
    for base in type.__dict__["__mro__"].__get__(kind):
        own = type.__dict__["__dict__"].__get__(base)
        if name not in own:
            continue
        if not isinstance(own[name], FunctionType):
            return
        yield own[name]
        if "super" not in own[name].__code__.co_names:
            return


def empties(code: CodeType, name: str) -> bool:
    """Whether the code assigns the attribute, or clears what it holds."""
    read = [one.opname for one in dis.get_instructions(code) if one.argval == name]
    return "STORE_ATTR" in read or ("LOAD_ATTR" in read and "clear" in code.co_names)


def is_declared(graph: _heap.Graph, nodes: Set[int], kind: type, name: str) -> bool:
    """Whether a dict of an object of this type, such as that of the default values of its states, has the name as a key.

    Snapshots name the entries of new containers alone, so the object itself is looked at.
    """
    found = live_objects(graph, nodes, kind)
    tables = (value for one in found for value in attributes(one).values() if type(value) is dict)
    return any(type(key) is str and key == name for table in tables for key in table)
