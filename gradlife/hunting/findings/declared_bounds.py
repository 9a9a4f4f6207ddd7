"""The bound that is declared for a container: by its type, by its size, or by the program's source."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from gradlife import _heap
from gradlife.heap.path_steps import length_and_most
from gradlife.hunting.growth.reachable_growth import ROUNDS
from gradlife.hunting.snapshots.live_objects import live_objects
from gradlife.hunting.snapshots.noted_facts import identity_of, item_count, items_of, node_at
from gradlife.hunting.snapshots.step_snapshots import ARRAY, StepSnapshot
from gradlife.model.growth import DeclaredBound
from gradlife.model.trace import PathStep
from gradlife.safe_access import attributes, is_a, member

#: What declares the bound of a container whose places are all there from the start.
BY_SIZE = "size"

#: Bytes of a reference.
REFERENCE = 8

#: Queues with a `maxsize`; 0 or less is no bound.
QUEUES = (("queue", "Queue"), ("queue", "LifoQueue"), ("queue", "PriorityQueue"), ("asyncio.queues", "Queue"))


def bound_by_type(step: PathStep) -> DeclaredBound | None:
    """Return a deque's maxlen or an lru_cache's maxsize."""
    if step.most is None:
        return None
    return DeclaredBound(step.length, step.most, "maxlen" if step.is_a("collections.deque") else "maxsize")


def bound_of_queue(graph: _heap.Graph, owners: Collection[int], step: PathStep) -> DeclaredBound | None:
    """Return the maxsize of a queue whose items grow; ``owners``: the nodes of the step before."""
    kinds = (member(module, name) for module, name in QUEUES)
    for kind in kinds:
        for queue in live_objects(graph, owners, kind) if is_a(kind, type) else ():
            found = attributes(queue)
            most = found.get("maxsize", found.get("_maxsize"))
            if type(most) is int and most > 0:
                return DeclaredBound(step.length, most, "maxsize")
    return None


def bound_by_size(snapshots: Sequence[StepSnapshot], container: int) -> DeclaredBound | None:
    """Return the bound of a list or an array of objects whose own bytes are the same at all judged snapshots, such as a ring
    buffer. A list must have no spare room, which it would have if it had got longer.
    """
    graph = snapshots[-1].graph
    slots = slots_of(graph, container)
    one = identity_of(graph, container)
    recent = snapshots[-ROUNDS - 1 :]
    nodes = [node_at(snapshot.graph, one) for snapshot in recent]
    sizes = {None if node is None else own_bytes(at.graph, node) for at, node in zip(recent, nodes, strict=True)}
    if not slots or len(sizes) > 1 or None in sizes:
        return None
    return DeclaredBound(items_of(graph, container), slots, BY_SIZE)


def slots_of(graph: _heap.Graph, container: int) -> int:
    """Return the items of a list or an array of objects; 0 for anything else, and for a list with spare room."""
    if graph.type(container) == ARRAY:
        return own_bytes(graph, container) // REFERENCE
    if graph.type(container) != "list":
        return 0
    length = graph.length(container)
    return length if length and own_bytes(graph, container) == sys.getsizeof([]) + length * REFERENCE else 0


def own_bytes(graph: _heap.Graph, node: int) -> int:
    """Return the bytes of an object itself."""
    return graph.describe(node).bytes or 0


def has_more_items(snapshots: Sequence[StepSnapshot], container: int) -> bool:
    """Whether a container has another number of items at some snapshot."""
    one = identity_of(snapshots[-1].graph, container)
    return len({item_count(snapshot, one) for snapshot in snapshots}) > 1


def bound_of_several(snapshots: Sequence[StepSnapshot], container: int, inner: Collection[int]) -> DeclaredBound | None:
    """Return the bound of bounded containers inside one that gets no more of them, together."""
    graph = snapshots[-1].graph
    if has_more_items(snapshots, container):
        return None
    sizes = [length_and_most(graph.references_along([node])[0]) for node in inner]
    if not sizes or any(most is None for _, most in sizes):
        return None
    return DeclaredBound(sum(length or 0 for length, _ in sizes), sum(most or 0 for _, most in sizes), "maxlen")
