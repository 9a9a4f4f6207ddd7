"""Old objects that each gain one new object: samples that cache features, records that store their outputs.

No container gets longer and no single object grows in every round, but together they keep the output of every step.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gradlife import _heap
from gradlife.hunting.growth.groups import Group
from gradlife.hunting.snapshots.retained import dominators

#: Objects that must each have gained a new object before this counts as growth.
MIN_PLACES = 10

#: A holder of more objects than this is a container.
MAX_IN_ONE = 4

#: Objects that are compared with the earlier snapshot, and the share of them that must have had less.
MAX_SAMPLE = 40
MIN_SHARE = 0.9

#: Relations whose labels identify a place in an object; those of items and values do not.
NAMED = frozenset({"attribute", "slot", "dict_value"})


class Place(NamedTuple):
    """The same attribute or item of many objects of one type."""

    holder: str  # type of the objects
    relation: str
    name: str  # of the reference; empty if it identifies no place
    held: str  # type of the objects gained


def spread_groups(groups: Iterable[Group], graph: _heap.Graph, earlier: _heap.Graph) -> list[Group]:
    """Merge groups held at the same place of many objects if most of these objects held less in the earlier
    snapshot.

    The members must have been born after that snapshot.
    """
    alike: defaultdict[Place, list[Group]] = defaultdict(list)
    for group in groups:
        if group.anchor and len(group.tops) <= MAX_IN_ONE:
            for place in place_of(graph, group.anchor, group.tops[0]):
                alike[place].append(group)
    return [
        together(graph, ones) for ones in alike.values() if len(ones) >= MIN_PLACES and have_got(graph, ones, earlier)
    ]


def place_of(graph: _heap.Graph, holder: int, top: int) -> Iterator[Place]:
    """Yield the place of an object that holds `top`; nothing if other objects lie between them."""
    if holder in graph.referrers(top):
        step = graph.references_along([holder, top])[0]
        yield Place(graph.type(holder), step.relation, step.label if step.relation in NAMED else "", graph.type(top))


def have_got(graph: _heap.Graph, groups: Sequence[Group], earlier: _heap.Graph) -> bool:
    """Whether most of these objects held fewer of the type before. A replacement leaves the count unchanged."""
    sample = groups[:: max(1, len(groups) // MAX_SAMPLE)]
    return sum(has_got(graph, group, earlier) for group in sample) >= MIN_SHARE * len(sample)


def has_got(graph: _heap.Graph, group: Group, earlier: _heap.Graph) -> bool:
    """Whether the holder existed before, with fewer objects of the type."""
    holder = group.anchor or 0
    before = earlier.find(graph.describe(holder).address)
    if before is None or earlier.kind_and_type(before) != graph.kind_and_type(holder):
        return False
    kind = graph.kind_and_type(group.tops[0])
    return count_of(earlier, before, kind) < count_of(graph, holder, kind)


def count_of(graph: _heap.Graph, holder: int, kind: tuple[str, str]) -> int:
    """Count the references of an object to objects of a kind and type."""
    return sum(graph.kind_and_type(node) == kind for node in graph.referents(holder))


def together(graph: _heap.Graph, groups: Sequence[Group]) -> Group:
    """Merge groups into one whose anchor is the nearest common dominator of their objects."""
    whole = Group(common_dominator(graph, [group.anchor or 0 for group in groups]))
    for group in groups:
        whole.tops.extend(group.tops)
        whole.places.update(dict.fromkeys(group.tops, group.anchor or 0))
        whole.absorb(group)
    return whole


def path_to_place(graph: _heap.Graph, group: Group) -> tuple[int, ...]:
    """Return the most common shape of path to an object and its new member: the newest is often also in a variable."""
    paths = [(*graph.path(holder), top) for top, holder in group.places.items()]
    shapes = [tuple(graph.kind_and_type(node) for node in path) for path in paths]
    ((usual, _),) = Counter(shapes).most_common(1)
    alike = [path for path, shape in zip(paths, shapes, strict=True) if shape == usual]
    return alike[len(alike) // 2]


def common_dominator(graph: _heap.Graph, nodes: Sequence[int]) -> int:
    """Return the nearest object on all paths to these nodes; 0, the root of all, if there is no other."""
    shared = list(dominators(graph, nodes[0]))
    for node in nodes[1:]:
        above = set(dominators(graph, node))
        shared = [one for one in shared if one in above]
    return shared[0] if shared else 0
