"""New items of a growing container that look old, since each stands where an object of its type was freed.

A step that adds objects to a container and frees as many of the same type elsewhere makes all of them look old: the next
step's get the addresses. The container's length and the number of objects of the type show them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from gradlife import _heap
from gradlife.hunting.growth.groups import HOLDERS
from gradlife.hunting.snapshots.noted_facts import identity_of, level_by_type, reference_count
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.hunting.snapshots.survivors import Births

#: The least growth of a round per step, as a share of the fastest round. Leaks that occur every few steps vary.
MIN_SHARE = 0.25

#: A type's number must rise by at least this many objects per step; less may be chance.
MIN_RISE = 1.0

#: The least share of a type's new objects that a container must gain, and the largest share of them that look new: with
#: more, the container is judged without this.
MIN_GAINED = LARGEST_SEEN = 0.5

#: Objects of a type whose holders are looked for, spread over all of them.
MAX_SAMPLE = 1000

#: Containers of a type whose length is looked up, those with most of its objects first.
MAX_CONTAINERS = 8


def are_steady(counts: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether every round added per step at least `MIN_SHARE` of what the fastest did."""
    rates = [count / number for count, number in zip(counts, steps, strict=True)]
    return len(rates) > 1 and min(rates) > MIN_SHARE * max(rates)


def births_at_old_addresses(snapshots: Sequence[StepSnapshot], rounds: range, born: Births) -> Births:
    """Find the new items that `born` lacks, each with the round in which its container gained it."""
    around = snapshots[rounds.start :]
    if len(around) < 2:
        return {}
    graph = around[-1].graph
    found: Births = {}
    for type_, rise in rising_types(around):
        for container in containers_of(graph, graph.nodes("python", type_), born):
            gained = gained_of_type(graph, container, type_, around)
            if sum(gained) >= MIN_GAINED * rise:
                found.update(unseen_items(graph, container, type_, gained, rounds, born))
    return found


def rising_types(around: Sequence[StepSnapshot]) -> Iterator[tuple[str, int]]:
    """Yield each Python type whose number rises steadily in every round, and its rise in all rounds together."""
    levels = [level_by_type(one) for one in around]
    steps = lengths_of(around)
    for kind, type_ in levels[-1]:
        counts = [one[kind, type_] for one in levels]
        rises = [after - before for before, after in itertools.pairwise(counts)]
        if kind == "python" and sum(rises) >= MIN_RISE * sum(steps) and are_steady(rises, steps):
            yield type_, sum(rises)


def lengths_of(around: Sequence[StepSnapshot]) -> list[int]:
    """Return the number of steps of each round."""
    return [max(1, after.steps - before.steps) for before, after in itertools.pairwise(around)]


def containers_of(graph: _heap.Graph, nodes: Sequence[int], born: Births) -> list[int]:
    """Return the old objects that refer to most of these nodes."""
    counts: Counter[int] = Counter()
    for node in nodes[:: max(1, len(nodes) // MAX_SAMPLE)]:
        counts.update(one for one in graph.referrers(node) if one not in born and graph.kind(one) in HOLDERS)
    return [node for node, _ in counts.most_common(MAX_CONTAINERS)]


def gained_of_type(graph: _heap.Graph, container: int, type_: str, around: Sequence[StepSnapshot]) -> list[int]:
    """Return how many objects of a type a container gained in each round; empty if it did not grow steadily."""
    one = identity_of(graph, container)
    counts = [reference_count(snapshot, one) for snapshot in around]
    lengths = [count for count in counts if count is not None]
    gained = [after - before for before, after in itertools.pairwise(lengths)]
    if len(lengths) < len(counts) or min(gained) <= 0 or not are_steady(gained, lengths_of(around)):
        return []
    items = graph.referents(container)
    share = sum(graph.type(item) == type_ for item in items) / len(items)
    return [round(share * count) for count in gained]


def unseen_items(
    graph: _heap.Graph, container: int, type_: str, gained: Sequence[int], rounds: range, born: Births
) -> Births:
    """Return the container's last items of the type, as many as it gained, with their rounds; none if most look new."""
    items = [item for item in graph.referents(container) if graph.type(item) == type_]
    seen = sum(born.get(item, -1) in rounds for item in items)
    if seen > LARGEST_SEEN * sum(gained):
        return {}
    dates = [number for number, count in zip(rounds, gained, strict=True) for _ in range(count)]
    last = items[-len(dates) :] if dates else []
    return {item: number for item, number in zip(last, dates[-len(last) :], strict=True) if item not in born}
