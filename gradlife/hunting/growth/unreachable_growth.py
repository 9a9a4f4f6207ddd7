"""Islands that become more after every round. Objects that come and go at the same addresses only look like
survivors.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gradlife import _heap
from gradlife.hunting.growth.groups import Group
from gradlife.hunting.snapshots.node_weights import leak_types, matters
from gradlife.hunting.snapshots.survivors import Births

#: Kind and name.
Type = tuple[str, str]

#: More objects of a type must be left, by this share of those that were born.
LEAST_SHARE = 0.5


@dataclass(frozen=True)
class Lost:
    """Islands that are alike: how many objects of each type one has, and how many of them were born in the judged rounds."""

    group: Group
    each: Mapping[Type, int]
    born: Counter[Type]

    def outgrowing(self, more: Mapping[Type, float], types: Iterable[Type]) -> Type | None:
        """The first of some types of which about as many more are left as were born."""
        return next((one for one in types if self.born[one] and more[one] >= LEAST_SHARE * self.born[one]), None)


def unreachable_growth(
    groups: Iterable[Group],
    graphs: Sequence[_heap.Graph],
    born: Births,
    judged: range,
    foreign: Mapping[Type, int] = MappingProxyType({}),
) -> list[Group]:
    """Return the groups of islands that become more after every judged round; ``graphs`` are from around these
    rounds.

    Many kinds of islands have tensors, but usually only one kind has a given class of nodes. Its growth is known from
    that class; the others share the remaining tensors. ``foreign`` counts what the hunt itself left.
    """
    lost = [described(group, graphs[-1], born, judged) for group in groups]
    types = {type_ for one in lost for type_ in one.each}
    more = {type_: max(0.0, left_more(graphs, type_) - foreign.get(type_, 0)) for type_ in types}
    owners = Counter(type_ for one in lost for type_ in one.each)
    found = []
    for one in lost:
        own = one.outgrowing(more, [type_ for type_ in one.born if owners[type_] == 1])
        if own is not None:
            found.append(one)
            take(more, one, more[own] / one.each[own])
    found += [one for one in lost if one not in found and one.outgrowing(more, one.born) is not None]
    return [one.group for one in found]


def described(group: Group, graph: _heap.Graph, born: Births, judged: range) -> Lost:
    """Counts objects of the types that matter; all where none does."""
    leaking = leak_types()
    relevant = [node for node in group.members if matters(graph, node, leaking)] or list(group.members)
    islands: dict[int, Counter[Type]] = {}
    for node in relevant:
        islands.setdefault(group.members[node], Counter())[graph.kind_and_type(node)] += 1
    types = dict.fromkeys(type_ for counts in islands.values() for type_ in counts)
    # Parts of some islands have the addresses of earlier ones; nothing tells whose they are.
    each = {type_: usual(counts[type_] for counts in islands.values() if counts[type_]) for type_ in types}
    return Lost(group, each, Counter(graph.kind_and_type(node) for node in relevant if born[node] in judged))


def usual(counts: Iterable[int]) -> int:
    """The most frequent of some numbers."""
    return Counter(counts).most_common(1)[0][0]


def take(more: dict[Type, float], one: Lost, islands: float) -> None:
    """Leaves to the others what is not in so many islands."""
    for type_, count in one.each.items():
        more[type_] = max(0.0, more[type_] - islands * count)


def left_more(graphs: Sequence[_heap.Graph], type_: Type) -> float:
    """Return how many more objects of a type are unreachable at the end than at the beginning; 0 if there ever were
    fewer.
    """
    counts = [unreached_count(graph, type_) for graph in graphs]
    is_rising = all(before <= after for before, after in itertools.pairwise(counts))
    return float(counts[-1] - counts[0]) if is_rising else 0.0


def unreached_count(graph: _heap.Graph, type_: Type) -> int:
    """Objects of a type that no root reaches."""
    return sum(graph.dominator(node) is None for node in graph.nodes(*type_))
