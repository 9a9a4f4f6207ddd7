"""Lists and arrays of a fixed size whose items are set one after the other: a ring buffer that has not come round yet."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gradlife import _heap
from gradlife.hunting.growth.caches import LARGEST_BOUND
from gradlife.hunting.growth.reachable_growth import ROUNDS
from gradlife.hunting.snapshots.noted_facts import identity_of, items_of, node_at
from gradlife.hunting.snapshots.step_snapshots import ARRAY, StepSnapshot

#: Bytes of a reference.
REFERENCE = 8


def empty_slots(snapshots: Sequence[StepSnapshot], container: int) -> int:
    """Return how many items of the container are still to be set; 0 if it has no fixed size.

    Its own bytes stay the same in all rounds. A list must have no spare room, which it would have if it had got longer.
    """
    graph = snapshots[-1].graph
    slots = slots_of(graph, container)
    one = identity_of(graph, container)
    recent = snapshots[-ROUNDS - 1 :]
    nodes = [node_at(snapshot.graph, one) for snapshot in recent]
    sizes = {None if node is None else own_bytes(at.graph, node) for at, node in zip(recent, nodes, strict=True)}
    if len(sizes) > 1 or None in sizes or not slots <= LARGEST_BOUND:
        return 0
    return max(0, slots - items_of(graph, container)) if slots else 0


def slots_of(graph: _heap.Graph, container: int) -> int:
    """Return the items of a list or an array of objects; 0 for anything else, and for a list with spare room."""
    if graph.type(container) == ARRAY:
        return own_bytes(graph, container) // REFERENCE
    if graph.type(container) != "list":
        return 0
    length = graph.length(container) or 0
    return length if own_bytes(graph, container) == sys.getsizeof([]) + length * REFERENCE else 0


def own_bytes(graph: _heap.Graph, node: int) -> int:
    """Return the bytes of an object itself."""
    return graph.describe(node).bytes or 0
