"""Growth spread over the containers inside one container: a dict with a list for each epoch, a list of records.

Each of the inner containers grows for some rounds, and the next one goes on. Only together they grow in every round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gradlife import _heap
from gradlife.hunting.growth.groups import Group, has_variables
from gradlife.hunting.snapshots.retained import dominators

#: Inner containers or objects that must hold some of the growth.
MIN_INNER = 2

#: Objects between the outer container and the place that grows: an object of an epoch, its dict, its list.
MAX_LEVELS = 4


@dataclass
class Nest:
    """Groups below the same container, inside containers or objects of one type."""

    depth: int = 0  # of the deepest group
    groups: list[Group] = field(default_factory=list)
    inner: set[int] = field(default_factory=set)

    def add(self, group: Group, inner: Iterable[int], depth: int) -> None:
        """Take in a group that is held through these objects."""
        self.groups.append(group)
        self.inner.update(inner)
        self.depth = max(self.depth, depth)


def nested(groups: Sequence[Group], graph: _heap.Graph) -> Iterator[Group]:
    """Yield the groups that several objects inside one container hold together, the nearest container first."""
    nests: defaultdict[tuple[int, tuple[str, str]], Nest] = defaultdict(Nest)
    for group in groups:
        if group.anchor and graph.kind(group.anchor) == "python":
            nests[group.anchor, graph.kind_and_type(group.tops[0])].add(group, group.tops, 0)
            for depth, (outer, inner) in enumerate(levels(graph, group.anchor), 1):
                nests[outer, graph.kind_and_type(inner)].add(group, [inner], depth)
    for (outer, _), nest in sorted(nests.items(), key=lambda item: item[1].depth):
        if nest.depth and len(nest.inner) >= MIN_INNER and not has_variables(graph, outer):
            yield together(outer, nest)


def outer_containers(graph: _heap.Graph, growing: Iterable[int]) -> dict[int, int]:
    """Return for growing containers what holds several of their type: `results` of the loop over `layers` is one of these."""
    inside: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for one in growing:
        for outer in graph.referrers(one):
            if graph.kind(outer) == "python" and not has_variables(graph, outer):
                inside[outer, graph.type(one)].append(one)
    return {one: outer for (outer, _), ones in inside.items() if len(ones) >= MIN_INNER for one in ones}


def levels(graph: _heap.Graph, anchor: int) -> Iterator[tuple[int, int]]:
    """Yield the holders of an object, nearest first, each with the object that it holds on the way down."""
    inner = anchor
    for outer, _ in zip(dominators(graph, anchor), range(MAX_LEVELS), strict=False):
        if graph.kind(outer) != "python":
            return
        yield outer, inner
        inner = outer


def together(outer: int, nest: Nest) -> Group:
    """Merge the groups into one that the outer container holds."""
    whole = Group(outer, holders=frozenset(group.anchor for group in nest.groups if group.anchor))
    for group in nest.groups:
        whole.tops.extend(group.tops)
        whole.absorb(group)
    return whole
