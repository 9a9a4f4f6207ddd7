"""Containers that get longer in every round by about as much, whatever they hold: text, numbers, rows of plain data.

Lengths are known exactly. What a container holds counts from `MIN_PLAIN_BYTES` per step on; less is reported as small growth.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.hunting.growth.groups import Group, has_variables, is_hunts_own
from gradlife.hunting.growth.nested_growth import outer_containers
from gradlife.hunting.growth.rates import are_steady
from gradlife.hunting.snapshots.node_weights import MIN_PLAIN_BYTES, plain_bytes
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.hunting.snapshots.survivors import Births


@dataclass(frozen=True)
class LongerContainer:
    """A container of the last snapshot that has more items after each round."""

    node: int
    items: float  # per step
    bytes: float  # per step: of its own table, of small objects that only it holds, and of new objects that it leads to
    group: Group


def longer_containers(
    graph: _heap.Graph, around: Sequence[StepSnapshot], born: Births, rounds: range, known: Container[int]
) -> Iterator[LongerContainer]:
    """Yield the reachable containers that got longer in each round, but those in `known`; ``around``: snapshots of the rounds.

    Of what gets too little to count by itself, what one container holds is taken together: the lists of an index of words.
    """
    steps = [max(1, after.steps - before.steps) for before, after in itertools.pairwise(around)]
    if len(steps) < 2:
        return
    rest: dict[int, Longer] = {}
    for one in longer(graph, around, born, rounds, known):
        if one.is_steady(steps) and one.bytes >= MIN_PLAIN_BYTES * sum(steps):
            yield one.per_step(sum(steps))
        else:
            rest[one.node] = one
    inside: defaultdict[int, list[Longer]] = defaultdict(list)
    for node, outer in outer_containers(graph, rest).items():
        if outer not in born:
            inside[outer].append(rest[node])
    for outer, ones in inside.items():
        whole = together(outer, ones)
        if whole.is_steady(steps) and whole.bytes >= MIN_PLAIN_BYTES * sum(steps):
            yield whole.per_step(sum(steps))
            rest = {node: one for node, one in rest.items() if one not in ones}
    yield from (one.per_step(sum(steps)) for one in rest.values() if one.is_steady(steps))


@dataclass(frozen=True)
class Longer:
    """A container that got longer in each round, with what it gained: items by round, and bytes."""

    node: int
    added: Sequence[int]
    bytes: float
    group: Group

    def is_steady(self, steps: Sequence[int]) -> bool:
        """Whether each round added about as many items per step."""
        return are_steady(self.added, steps)

    def per_step(self, steps: int) -> LongerContainer:
        """Return the rates per step."""
        return LongerContainer(self.node, sum(self.added) / steps, self.bytes / steps, self.group)


def longer(
    graph: _heap.Graph, around: Sequence[StepSnapshot], born: Births, rounds: range, known: Container[int]
) -> Iterator[Longer]:
    """Yield the old containers with more items after each round, steady or not."""
    for node, lengths, nbytes in _heap.longer_containers([one.graph for one in around]):
        if node in known or node in born or is_out_of_question(graph, node):
            continue
        if any(one in known and one in born for one in graph.referents(node)):
            continue  # it holds some of what another group has
        group = group_of(graph, node, born)
        new = [one for one in group.members if born.get(one, -1) in rounds]
        more = max(0, nbytes[-1] - nbytes[0]) + plain_bytes(graph, new)
        yield Longer(node, [after - before for before, after in itertools.pairwise(lengths)], more, group)


def together(outer: int, ones: Sequence[Longer]) -> Longer:
    """Return what the containers in a container gained together."""
    group = Group(outer, [one.node for one in ones], {one.node: one.node for one in ones})
    group = replace(group, holders=frozenset(group.tops))
    for one in ones:
        group.absorb(one.group)
    added = [sum(counts) for counts in zip(*(one.added for one in ones), strict=True)]
    return Longer(outer, added, sum(one.bytes for one in ones), group)


def is_out_of_question(graph: _heap.Graph, node: int) -> bool:
    """Whether nothing reaches the container, it is a table of variables, or the hunt itself has it."""
    return graph.dominator(node) is None or has_variables(graph, node) or is_hunts_own(graph, node)


def group_of(graph: _heap.Graph, node: int, born: Births) -> Group:
    """Return the new objects that the container refers to, or the container itself if it has only text and numbers."""
    new = [one for one in graph.referents(node) if one in born and graph.dominator(one) == node]
    if not new:
        return Group(graph.dominator(node), [node], {node: node})
    members: dict[int, int] = {}
    for top in new:
        members.update(dict.fromkeys(below(graph, top, born), top))
    return Group(node, new, members)


def below(graph: _heap.Graph, top: int, born: Births) -> list[int]:
    """Return an object and the new ones that it alone leads to."""
    found = [top]
    for at in found:
        found += [one for one in graph.referents(at) if one in born and one not in found and graph.dominator(one) == at]
    return found
