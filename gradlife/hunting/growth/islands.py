"""Unreachable survivors, grouped into islands of connected objects, and the cycle in each island."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from gradlife import _heap
from gradlife.hunting.growth.groups import Group

Node = int


def islands(graph: _heap.Graph, nodes: Iterable[int]) -> list[Group]:
    """Group the unreachable nodes into connected islands."""
    waiting = {node for node in nodes if graph.dominator(node) is None}
    around = neighbours(graph, waiting)
    found = []
    while waiting:
        start = waiting.pop()
        members, front = [start], [start]
        while front:
            fresh = around[front.pop()] & waiting
            waiting -= fresh
            members += fresh
            front += fresh
        found.append(Group(None, [start], dict.fromkeys(members, start)))
    return found


def lost_with_neighbours(graph: _heap.Graph, nodes: Iterable[int], skipped: Container[int] = ()) -> set[int]:
    """Return the unreachable nodes among these, with the other unreachable ones around them, such as older garbage."""
    found = {node for node in nodes if graph.dominator(node) is None}
    front = list(found)
    while front:
        node = front.pop()
        for other in (*graph.referents(node), *graph.referrers(node)):
            if other not in found and other not in skipped and graph.dominator(other) is None:
                found.add(other)
                front.append(other)
    return found


def neighbours(graph: _heap.Graph, nodes: set[int]) -> dict[int, set[int]]:
    """Return the neighbours of each node among these nodes, in both directions."""
    around: dict[int, set[int]] = {node: set() for node in nodes}
    for node in nodes:
        for target in graph.referents(node):
            if target in around:
                around[node].add(target)
                around[target].add(node)
    return around


def grouped_by_cycle(graph: _heap.Graph, found: Sequence[Group]) -> list[Group]:
    """Merge islands whose cycles have the same types into one group: each island is one occurrence of the same leak."""
    cycle_types: dict[frozenset[tuple[str, str]], frozenset[tuple[str, str]]] = {}
    groups: dict[frozenset[tuple[str, str]], Group] = {}
    for island in found:
        names = type_names(graph, island.members)
        if names not in cycle_types:
            cycle_types[names] = type_names(graph, cycle_members(graph, island.members) or island.members)
        group = groups.setdefault(cycle_types[names], Group(None))
        group.tops += island.tops
        group.members.update(island.members)
    return list(groups.values())


def type_names(graph: _heap.Graph, nodes: Iterable[int]) -> frozenset[tuple[str, str]]:
    """Return the kinds and types of the nodes."""
    return frozenset(graph.kind_and_type(node) for node in nodes)


def cycle_members(graph: _heap.Graph, members: Iterable[int]) -> set[int]:
    """Find the members that are in a cycle. A cycle of only a wrapper and its C++ object does not count."""
    inside = set(members)
    found: set[int] = set()
    for part in cyclic_parts(graph, inside):
        kinds = {graph.kind(node) for node in part}
        if len(part) > 2 or kinds == {"python"}:
            found |= part
    return found


def has_cycle(graph: _heap.Graph, members: set[int]) -> bool:
    """Whether any of these refers to itself, directly or through others."""
    return bool(cycle_members(graph, members)) or any(node in graph.referents(node) for node in members)


def cyclic_parts(graph: _heap.Graph, nodes: set[int]) -> list[set[int]]:
    """Find strongly connected components of more than one node (Tarjan, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    parts: list[set[int]] = []
    for start in nodes:
        if start in order:
            continue
        work = [(start, iter(graph.referents(start)))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in nodes:
                    continue
                if target not in order:
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(graph.referents(target))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], order[target])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == order[node]:
                    part = set()
                    while node not in part:
                        last = stack.pop()
                        on_stack.discard(last)
                        part.add(last)
                    if len(part) > 1:
                        parts.append(part)
    return parts
