"""Containers that get longer in every round by about as much, whatever they hold: text, numbers, rows of plain data.

Lengths are known exactly. What a container holds counts from `MIN_PLAIN_BYTES` per step on; less is reported as small growth.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.growth.groups import Group, has_variables, is_hunts_own
from gradlife.hunting.growth.rates import are_steady
from gradlife.hunting.snapshots.node_weights import plain_bytes
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
    """Yield the reachable containers that got longer in each round, but those in `known`; ``around``: snapshots of the rounds."""
    steps = [max(1, after.steps - before.steps) for before, after in itertools.pairwise(around)]
    if len(steps) < 2:
        return
    for node, lengths, nbytes in _heap.longer_containers([one.graph for one in around]):
        added = [after - before for before, after in itertools.pairwise(lengths)]
        if node in known or node in born or not are_steady(added, steps) or is_out_of_question(graph, node):
            continue
        if any(one in known and one in born for one in graph.referents(node)):
            continue  # it holds some of what another group has
        group = group_of(graph, node, born)
        new = [one for one in group.members if born.get(one, -1) in rounds]
        more = max(0, nbytes[-1] - nbytes[0]) + plain_bytes(graph, new)
        yield LongerContainer(node, sum(added) / sum(steps), more / sum(steps), group)


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
