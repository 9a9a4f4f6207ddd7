"""Many old objects that get one new thing each: samples that cache their features, records that are given their outputs.

No container of theirs gets longer, and none of the objects has more after each round; together they keep what every step makes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gradlife import _heap
from gradlife.hunting.growth.groups import Group
from gradlife.hunting.snapshots.retained import dominators

#: Objects that must have got a new one each before it counts as growth.
LEAST_PLACES = 10

#: More than so many in one object are a container's.
MOST_IN_ONE = 4

#: Objects of which it is asked what they had before, and the share of them that must have had less.
MOST_ASKED = 40
LEAST_SHARE = 0.9

#: References whose names tell one place of an object from another; those of items and values do not.
NAMED = frozenset({"attribute", "slot", "dict_value"})

#: Fields that a tensor has from the beginning or never. A new one means another tensor at the same address.
FROM_THE_BEGINNING = ("native", "base")


class Place(NamedTuple):
    """The same attribute or item of many objects of one type."""

    holder: str  # type of the objects
    relation: str
    name: str  # of the reference; empty if it does not tell one place from another
    held: str  # type of what they got


def spread(groups: Iterable[Group], graph: _heap.Graph, earlier: _heap.Graph) -> list[Group]:
    """Groups that hang on the same place of many objects, together, where most of these objects had less at an earlier snapshot.

    What hangs there must have been born after that.
    """
    alike: defaultdict[Place, list[Group]] = defaultdict(list)
    for group in groups:
        if group.anchor and len(group.tops) <= MOST_IN_ONE:
            for place in place_of(graph, group.anchor, group.tops[0]):
                alike[place].append(group)
    return [
        together(graph, ones) for ones in alike.values() if len(ones) >= LEAST_PLACES and have_got(graph, ones, earlier)
    ]


def place_of(graph: _heap.Graph, holder: int, top: int) -> Iterator[Place]:
    """Yield the place of an object that holds `top`; nothing if other objects lie between the two."""
    if holder in graph.referrers(top):
        step = graph.steps_along([holder, top])[0]
        if (step.relation, step.label) == FROM_THE_BEGINNING:
            return
        yield Place(graph.type(holder), step.relation, step.label if step.relation in NAMED else "", graph.type(top))


def have_got(graph: _heap.Graph, groups: Sequence[Group], earlier: _heap.Graph) -> bool:
    """Had most of these objects less of the kind? What only replaces something is as many as before."""
    sample = groups[:: max(1, len(groups) // MOST_ASKED)]
    return sum(has_got(graph, group, earlier) for group in sample) >= LEAST_SHARE * len(sample)


def has_got(graph: _heap.Graph, group: Group, earlier: _heap.Graph) -> bool:
    """Was the object there before, with less of the kind?"""
    holder = group.anchor or 0
    before = earlier.find(graph.describe(holder).address)
    if before is None or earlier.kind_and_type(before) != graph.kind_and_type(holder):
        return False
    kind = graph.kind_and_type(group.tops[0])
    return count_of(earlier, before, kind) < count_of(graph, holder, kind)


def count_of(graph: _heap.Graph, holder: int, kind: tuple[str, str]) -> int:
    """References of an object to objects of a kind."""
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
    """The path to one of the objects and to what it got: as most paths are, for a variable often has the newest, too."""
    paths = [(*graph.path(holder), top) for top, holder in group.places.items()]
    shapes = [tuple(graph.kind_and_type(node) for node in path) for path in paths]
    ((usual, _),) = Counter(shapes).most_common(1)
    alike = [path for path, shape in zip(paths, shapes, strict=True) if shape == usual]
    return alike[len(alike) // 2]


def common_dominator(graph: _heap.Graph, nodes: Sequence[int]) -> int:
    """The nearest object that all paths to these go through; 0, the root of all, where there is no other."""
    shared = list(dominators(graph, nodes[0]))
    for node in nodes[1:]:
        above = set(dominators(graph, node))
        shared = [one for one in shared if one in above]
    return shared[0] if shared else 0
