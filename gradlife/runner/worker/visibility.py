"""The references of a drawing that Python's cyclic collector does not see.

The collector asks each Python object what it refers to. A reference is seen if it is one of those, or if it stands on the
way through C++ objects from a Python object to another one that the first answers with.

An edge is a list: source, target, label, ownership, from the wrapper?, to the wrapper? A place is the number of a node and
whether its wrapper is meant.
"""

from __future__ import annotations

import gc
from collections import deque
from typing import Any, Iterator, Mapping, Sequence

#: Kinds of ownership that keep the target.
KEEPS = ("strong", "coupled")

#: Number of containers and plain objects that are searched from one object.
WIDTH = 400


def mark_visibility(
    nodes: Mapping[int, dict[str, Any]], edges: Sequence[list[Any]], places: Mapping[int, tuple[int, bool]]
) -> None:
    """Append to each edge whether the collector does not see it; `places`: drawn Python objects by address."""
    leaving: dict[int, list[list[Any]]] = {}
    for edge in edges:
        leaving.setdefault(edge[0], []).append(edge)
    seen: set[int] = set()
    for obj in [one for one in gc.get_objects() if id(one) in places]:
        place = places[id(obj)]
        seen.update(map(id, seen_edges(place, shown_places(obj, places), nodes, leaving)))
    for edge in edges:
        edge.append(id(edge) not in seen)


def shown_places(start: Any, places: Mapping[int, tuple[int, bool]]) -> set[tuple[int, bool]]:
    """Return the drawn objects that the collector reaches from an object through containers that are not drawn."""
    found: set[tuple[int, bool]] = set()
    passed = {id(start)}
    waiting = deque(gc.get_referents(start))
    while waiting and len(passed) < WIDTH:
        value = waiting.popleft()
        if id(value) in passed:
            continue
        passed.add(id(value))
        if id(value) in places:
            found.add(places[id(value)])
        elif not is_everything(value):
            waiting.extend(gc.get_referents(value))
    return found


def is_everything(value: Any) -> bool:
    """Whether this leads to the whole program: a class, a module, the variables of a module."""
    return issubclass(type(value), type) or type(value) is type(gc) or (type(value) is dict and "__builtins__" in value)


def seen_edges(
    place: tuple[int, bool],
    targets: set[tuple[int, bool]],
    nodes: Mapping[int, dict[str, Any]],
    leaving: Mapping[int, Sequence[list[Any]]],
) -> Iterator[list[Any]]:
    """Return the edges on the paths from a Python object to the objects that it shows."""
    number, is_wrapper = place
    for edge in leaving.get(number, ()):
        if edge[4] == is_wrapper and arrival(edge, nodes) in targets:
            yield edge
    if is_wrapper:
        yield from edges_behind(number, targets, nodes, leaving, {number})


def edges_behind(
    number: int,
    targets: set[tuple[int, bool]],
    nodes: Mapping[int, dict[str, Any]],
    leaving: Mapping[int, Sequence[list[Any]]],
    passed: set[int],
) -> list[list[Any]]:
    """Return the edges from a C++ object on, up to the next Python object of each path."""
    found: list[list[Any]] = []
    for edge in leaving.get(number, ()):
        if edge[4] or edge[3] not in KEEPS:
            continue
        end = arrival(edge, nodes)
        further: list[list[Any]] = []
        if end is None and edge[1] not in passed:
            passed.add(edge[1])
            further = edges_behind(edge[1], targets, nodes, leaving, passed)
        if further or end in targets:
            found += [edge, *further]
    return found


def arrival(edge: list[Any], nodes: Mapping[int, dict[str, Any]]) -> tuple[int, bool] | None:
    """Return the Python object that an edge leads to: a plain one, or the wrapper that is the target or that it
    keeps.
    """
    node = nodes[edge[1]]
    if edge[5] or node["kind"] == "python":
        return edge[1], edge[5]
    is_kept = node.get("to_impl") == "embeds" or node.get("to_wrapper") in KEEPS
    return (edge[1], True) if is_kept else None
