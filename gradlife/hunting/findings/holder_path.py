"""The path to tell of a group that grows: through the container that gets more, to a member that stands for all.

An object is often held twice: by a list that keeps it and by the variable of the step under way; by a registry and by the
namespace around it. The path leads through what holds all of the group and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.heap.diff import path_text
from gradlife.heap.steps import merged_steps, spans_of
from gradlife.hunting.findings.leak_trace import (
    MOST_COMPARED,
    best_members,
    by_storage,
    raw_path,
    representative,
    shown_members,
)
from gradlife.hunting.growth.groups import Group
from gradlife.hunting.growth.per_object_growth import path_to_place
from gradlife.hunting.growth.reachable_growth import Grown
from gradlife.model.growth import Growth, GrowthKind

#: A container that holds this share of what another one holds is as good a place to tell of.
ABOUT_ALL = 0.9

#: Members that are looked at between a container's item and what is named.
MOST_BETWEEN = 4096

#: Other holders that are named.
MOST_OTHERS = 3

#: Keys and values that any container may have beside what it keeps.
PLAIN = frozenset({"str", "int", "float", "bool", "NoneType", "bytes", "tuple"})


@dataclass(frozen=True)
class HolderPath:
    """The path by which a group is shown."""

    node: int  # the member that is shown
    nodes: tuple[int, ...]  # from a root to it; empty: the usual way
    holder: int | None  # the container that grows, if one does
    others: tuple[int, ...] = ()  # that hold as much, each by itself


def find_holder_path(graph: _heap.Graph, group: Group, containers: Sequence[int]) -> HolderPath:
    """The path through one of the containers that grow."""
    if group.places:
        return path_below(graph, group, path_to_place(graph, group))
    best = ordered(graph, group, containers)
    paths = (path_through(graph, group, node) for node in best)
    found = next((path for path in paths if path is not None), None)
    if found is None:
        paths = (path_through_any(graph, group, node) for node in best)
        found = next((path for path in paths if path is not None), None)
    if found is None:
        paths = (path_to_item(graph, group, node) for node in best)
        found = next((path for path in paths if path is not None), None)
    if found is None:
        return HolderPath(representative(graph, group), (), None)
    return replace(found, others=tuple(node for node in best if node != found.holder))


def path_below(graph: _heap.Graph, group: Group, path: tuple[int, ...]) -> HolderPath:
    """The path to what one of many objects got, and on to the member below that says most."""
    top = path[-1]
    below = {node: at for node, at in group.members.items() if at == top}
    inner = inner_path(graph, group, {top}, best_members(graph, Group(group.anchor, [top], below))[0])
    return HolderPath((inner or path)[-1], (*path, *inner[1:]), None)


def path_through(graph: _heap.Graph, group: Group, container: int) -> HolderPath | None:
    """The path through a container to one of the members that say most."""
    held = best_members(graph, group, container)
    node = held[len(held) // 2]
    if container in graph.path(node):
        return HolderPath(node, (), container)
    return path_to_one(graph, group, container, held)


def path_through_any(graph: _heap.Graph, group: Group, container: int) -> HolderPath | None:
    """The path through a container to the largest tensor that it has: the largest of all may hang on something else."""
    return path_to_one(graph, group, container, by_storage(graph, shown_members(graph, group))[:MOST_COMPARED])


def path_to_one(graph: _heap.Graph, group: Group, container: int, nodes: Sequence[int]) -> HolderPath | None:
    """The path through a container to the first of these members that it leads to."""
    items = items_of(graph, group, container)
    paths = ((one, inner_path(graph, group, items, one)) for one in nodes)
    return next((named for one, inner in paths if (named := named_path(graph, container, inner, one))), None)


def path_to_item(graph: _heap.Graph, group: Group, container: int) -> HolderPath | None:
    """The path to an item of a container, where it is not known by what that refers to anything else."""
    paths = (named_path(graph, container, [item], item) for item in items_of(graph, group, container))
    return next((path for path in paths if path is not None), None)


def named_path(graph: _heap.Graph, container: int, inner: list[int], node: int) -> HolderPath | None:
    """The path through a container, if it is known by what each of these refers to the next."""
    if not inner or any(step.relation == "unknown" for step in graph.steps_along([container, *inner])[:-1]):
        return None
    return HolderPath(node, (*graph.path(container), *inner), container)


def items_of(graph: _heap.Graph, group: Group, container: int) -> set[int]:
    """The members of a group that a container refers to."""
    return {item for item in graph.referents(container) if item in group.members}


def ordered(graph: _heap.Graph, group: Group, containers: Sequence[int]) -> list[int]:
    """Containers that hold about all of the group, the one to tell of first."""
    if not containers:
        return []
    tops = set(group.tops)
    counts = {node: len(tops.intersection(graph.referents(node))) for node in containers}
    whole = [node for node in containers if counts[node] >= ABOUT_ALL * max(counts.values())]
    names = {graph.kind_and_type(top) for top in tops}
    return sorted(whole, key=lambda node: cost_of(graph, node, names))


def cost_of(graph: _heap.Graph, container: int, names: set[tuple[str, str]]) -> tuple[bool, bool, int]:
    """The less the sooner it is named: the program's own before a library's, what holds nothing else, what is near."""
    path = graph.path(container)
    has_others = any(is_other(graph, node, names) for node in graph.referents(container))
    return (is_of_library(graph, container), has_others, len(path))


def is_other(graph: _heap.Graph, node: int, names: set[tuple[str, str]]) -> bool:
    """Is this neither like what grows nor a plain key or value beside it?"""
    kind, name = graph.kind_and_type(node)
    return (kind, name) not in names and name not in PLAIN


def is_of_library(graph: _heap.Graph, container: int) -> bool:
    """Does the path to it begin in a module of the standard library or of torch?"""
    first = next((step for step in graph.path_steps(container) if step.type == "module"), None)
    package = first.detail.partition(".")[0] if first is not None else ""
    return package in sys.stdlib_module_names or package == "torch"


def inner_path(graph: _heap.Graph, group: Group, items: set[int], node: int) -> list[int]:
    """A short path through members from one of these items to a member; empty where there is none."""
    after = {node: node}
    front = [node]
    for at in front:
        if at in items:
            path = [at]
            while path[-1] != node:
                path.append(after[path[-1]])
            return path
        for referrer in graph.referrers(at) if len(after) < MOST_BETWEEN else ():
            if referrer in group.members and referrer not in after:
                after[referrer] = at
                front.append(referrer)
    return []


def other_holders(graph: _heap.Graph, group: Group, path: HolderPath) -> tuple[str, ...]:
    """The other containers that hold as much, each by the path to it."""
    found: dict[str, None] = {}
    for container in path.others:
        item = next(iter(items_of(graph, group, container)), None)
        if item is not None:
            raw = graph.steps_along([*graph.path(container), item])
            steps = merged_steps(raw)
            is_step = spans_of(raw)[-2] == {container}  # else it is folded into what a reader takes for its owner
            found[path_text(steps[:-1] if is_step else steps)] = None
    return tuple(found)[:MOST_OTHERS]


def growth_in_trace(graph: _heap.Graph, path: HolderPath, grown: Grown) -> Growth:
    """Find the container that grows among the steps of the group's trace."""
    if grown.kind is not GrowthKind.CONTAINER:
        return Growth(grown.kind)
    spans = spans_of(raw_path(graph, path.node, path.nodes))
    wanted = [set() if path.holder is None else {path.holder}, set(grown.containers)]
    steps = (number for one in wanted for number, nodes in enumerate(spans) if not nodes.isdisjoint(one))
    return Growth(GrowthKind.CONTAINER, next(steps, None))
