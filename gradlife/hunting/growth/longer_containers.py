"""Containers that get longer in every round by about as much, whatever they hold: text, numbers, rows of plain data.

Lengths are known exactly. What a container holds counts from `MIN_PLAIN_BYTES` per step on; less is reported as small growth.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

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
    added: Sequence[int]  # items, by round
    gained: float  # bytes: of its own table, of small objects that only it holds, and of new objects that it leads to
    steps: Sequence[int]  # of each round
    group: Group

    @property
    def items(self) -> float:
        """The items that a step adds."""
        return sum(self.added) / sum(self.steps)

    @property
    def bytes(self) -> float:
        """The bytes that a step adds."""
        return self.gained / sum(self.steps)

    @property
    def is_steady(self) -> bool:
        """Whether each round added about as many items per step."""
        return are_steady(self.added, self.steps)

    @property
    def is_leak(self) -> bool:
        """Whether it gets steadily what counts as a leak."""
        return self.is_steady and self.bytes >= MIN_PLAIN_BYTES


def longer_containers(
    graph: _heap.Graph, around: Sequence[StepSnapshot], born: Births, rounds: range, known: Container[int]
) -> Iterator[LongerContainer]:
    """Yield the reachable containers that got longer in each round, but those in `known`; ``around``: snapshots of the rounds.

    Of what gets too little to count by itself, what one container holds is taken together: the lists of an index of words.
    """
    if len(around) < 3:
        return
    rest: dict[int, LongerContainer] = {}
    for one in each_longer(graph, around, born, rounds, known):
        if one.is_leak:
            yield one
        else:
            rest[one.node] = one
    inside: defaultdict[int, list[LongerContainer]] = defaultdict(list)
    for node, outer in outer_containers(graph, rest).items():
        if outer not in born:
            inside[outer].append(rest[node])
    for outer, ones in inside.items():
        whole = summed(outer, ones)
        if whole.is_leak:
            yield whole
            for one in ones:
                rest.pop(one.node, None)
    yield from (one for one in rest.values() if one.is_steady)


def each_longer(
    graph: _heap.Graph, around: Sequence[StepSnapshot], born: Births, rounds: range, known: Container[int]
) -> Iterator[LongerContainer]:
    """Yield the old containers with more items after each round, steady or not."""
    steps = [max(1, after.steps - before.steps) for before, after in itertools.pairwise(around)]
    for node, lengths, nbytes in _heap.longer_containers([one.graph for one in around]):
        if node in known or node in born or is_out_of_question(graph, node):
            continue
        if any(one in known and one in born for one in graph.referents(node)):
            continue  # it holds some of what another group has
        group = group_of(graph, node, born)
        new = [one for one in group.members if born.get(one, -1) in rounds]
        gained = max(0, nbytes[-1] - nbytes[0]) + plain_bytes(graph, new)
        added = [after - before for before, after in itertools.pairwise(lengths)]
        yield LongerContainer(node, added, gained, steps, group)


def summed(outer: int, ones: Sequence[LongerContainer]) -> LongerContainer:
    """Return what the containers in a container gained together."""
    tops = [one.node for one in ones]
    group = Group(outer, tops, {node: node for node in tops}, holders=frozenset(tops))
    for one in ones:
        group.absorb(one.group)
    added = [sum(counts) for counts in zip(*(one.added for one in ones), strict=True)]
    return LongerContainer(outer, added, sum(one.gained for one in ones), ones[0].steps, group)


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
