"""Islands that grow in number in every round. Objects that come and go at the same addresses only look like
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
from gradlife.hunting.snapshots.noted_facts import unreached_count
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.hunting.snapshots.survivors import Births

#: Kind and name.
Type = tuple[str, str]

#: The least increase of a type, as a share of its objects born in the judged rounds.
MIN_SHARE = 0.5


@dataclass(frozen=True)
class Lost:
    """Similar islands: the objects of each type in one island, and how many were born in the judged rounds."""

    group: Group
    each: Mapping[Type, int]
    born: Counter[Type]

    def outgrowing(self, more: Mapping[Type, float], types: Iterable[Type]) -> Type | None:
        """Return the first type whose unreachable objects increased by about as many as were born."""
        return next((one for one in types if self.born[one] and more[one] >= MIN_SHARE * self.born[one]), None)


def unreachable_growth(
    groups: Iterable[Group],
    snapshots: Sequence[StepSnapshot],
    born: Births,
    judged: range,
    planted: Mapping[Type, int] = MappingProxyType({}),
) -> list[Group]:
    """Return the groups of islands that grow in number in every judged round; ``snapshots`` are from around
    these rounds.

    Many kinds of islands have tensors, but usually only one kind has a given class of nodes. That class shows the
    growth of its kind; the others share the remaining tensors. ``planted`` counts the objects that the hunt itself
    planted.
    """
    lost = [described(group, snapshots[-1].graph, born, judged) for group in groups]
    types = {type_ for one in lost for type_ in one.each}
    more = {type_: max(0.0, left_more(snapshots, type_) - planted.get(type_, 0)) for type_ in types}
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
    """Count the objects of relevant types; of all types if none is relevant."""
    leaking = leak_types()
    relevant = [node for node in group.members if matters(graph, node, leaking)] or list(group.members)
    islands: dict[int, Counter[Type]] = {}
    for node in relevant:
        islands.setdefault(group.members[node], Counter())[graph.kind_and_type(node)] += 1
    types = dict.fromkeys(type_ for counts in islands.values() for type_ in counts)
    # Some islands have parts at reused addresses; their true owner is unknown.
    each = {type_: usual(counts[type_] for counts in islands.values() if counts[type_]) for type_ in types}
    return Lost(group, each, Counter(graph.kind_and_type(node) for node in relevant if born[node] in judged))


def usual(counts: Iterable[int]) -> int:
    """Return the most frequent number."""
    return Counter(counts).most_common(1)[0][0]


def take(more: dict[Type, float], one: Lost, islands: float) -> None:
    """Subtract the objects of this many islands from the increase."""
    for type_, count in one.each.items():
        more[type_] = max(0.0, more[type_] - islands * count)


def left_more(snapshots: Sequence[StepSnapshot], type_: Type) -> float:
    """Return how many more objects of a type are unreachable at the end than at the beginning; 0 if the number ever
    fell.
    """
    counts = [unreached_count(snapshot, *type_) for snapshot in snapshots]
    is_rising = all(before <= after for before, after in itertools.pairwise(counts))
    return float(counts[-1] - counts[0]) if is_rising else 0.0
