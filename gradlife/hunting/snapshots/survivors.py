"""Objects that were born in a round and are still alive at the end, identified by address and type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gradlife import _heap
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot

#: New objects of one type that are followed in a round at most.
MAX_OF_A_TYPE = 100_000

#: Last snapshots whose graphs are read again: those around the judged rounds.
KEPT = 4

#: Node of the last snapshot -> index of the round in which it was born; round 0 lies between snapshots 0 and 1.
Births = dict[int, int]


class NewObjects(NamedTuple):
    """Objects of one type that only the later of two graphs has, as its nodes."""

    kind: str
    type: str
    nodes: list[int]


def new_objects(before: _heap.Graph, after: _heap.Graph, most: int = MAX_OF_A_TYPE) -> Iterator[NewObjects]:
    """Compare two graphs of one process: yield the new objects of each type, ``most`` of them at most."""
    for name, kind, _new, _gone, _grown, nodes in _heap.compare_objects(before, after, most):
        if kind != "root":
            yield NewObjects(kind, name, nodes)


def births(snapshots: Sequence[StepSnapshot]) -> Births:
    """Find the nodes that were born after the first snapshot and are alive at the last."""
    found: Births = {}
    last = snapshots[-1].graph
    for number in range(len(snapshots) - 1):
        before, after = snapshots[number].graph, snapshots[number + 1].graph
        new = [(node, (row.kind, row.type)) for row in new_objects(before, after) for node in row.nodes]
        found.update(dict.fromkeys(living(last, after, new), number))
        if number + KEPT < len(snapshots):
            snapshots[number].forget()
    return found


def living(last: _heap.Graph, graph: _heap.Graph, new: Sequence[tuple[int, tuple[str, str]]]) -> list[int]:
    """Map nodes of an earlier graph to nodes of the last, without freed objects."""
    if graph is last:
        return [node for node, _ in new]
    types = {graph.describe(node).address: type_ for node, type_ in new}
    found = last.find_all(list(types))
    return [node for address, node in found.items() if last.kind_and_type(node) == types[address]]
