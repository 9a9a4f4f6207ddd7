"""Garbage that waits for the cyclic collector: present before a collection, gone after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.growth.groups import Group
from gradlife.hunting.growth.islands import grouped_by_cycle, islands
from gradlife.hunting.snapshots.node_weights import LARGE_BYTES, MIN_OBJECT_BYTES, NATIVE, plain_bytes
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, sized, tensor_type_names
from gradlife.hunting.snapshots.survivors import new_objects


@dataclass(frozen=True)
class Waiting:
    """Snapshots before and after a collection, and one from before the steps that made the garbage."""

    start: StepSnapshot
    before: StepSnapshot
    after: StepSnapshot
    steps: int
    is_uncollected: bool = False  # nothing runs the collector: plain objects are lost too
    threshold: int = 0  # at which the collector runs by itself; 0 if it does not, or was not measured
    new_objects: float = 0.0  # per step, as the collector counts them for its threshold
    #: The program ends: each step must have left one island. More may be of what follows the steps.
    is_of_last_steps: bool = False


@dataclass(frozen=True)
class Garbage:
    """Collectable islands."""

    graph: _heap.Graph
    groups: tuple[Group, ...]
    steps: int  # that made the garbage
    threshold: int = 0
    new_objects: float = 0.0


def is_waiting(start: StepSnapshot, now: StepSnapshot, *, is_uncollected: bool = False) -> bool:
    """Whether new, unreachable torch objects or large arrays exist; without them a collection is not worth its time.

    If nothing else collects, any object counts.
    """
    graph = now.graph
    fresh = appeared(start.graph, graph)
    large = {node for node, nbytes in sized(graph) if nbytes >= LARGE_BYTES}
    counting = (node for node in fresh if is_uncollected or node in large or graph.kind(node) in NATIVE)
    return any(not graph.path(node) for node in counting)


def garbage_of(waiting: Waiting) -> Garbage:
    """Find islands that were not there at the start and that the collection freed."""
    graph = waiting.before.graph
    found = islands(graph, appeared(waiting.after.graph, graph) & appeared(waiting.start.graph, graph))
    alike = islands_alike(graph, found)
    groups = [
        group
        for group in grouped_by_cycle(graph, found)
        if (holds_tensors(graph, group) or is_large(graph, group, waiting.steps) or is_lost(group, waiting))
        and (not waiting.is_of_last_steps or abs(alike[group.tops[0]] - waiting.steps) <= 1)
    ]
    return Garbage(graph, tuple(groups), waiting.steps, waiting.threshold, waiting.new_objects)


def islands_alike(graph: _heap.Graph, found: Sequence[Group]) -> dict[int, int]:
    """Count for each island, by its top, those with the same types of Python objects. Of C++ objects some may be missing, those
    at addresses of freed ones.
    """
    types = {
        island.tops[0]: frozenset(graph.type(node) for node in island.members if graph.kind(node) == "python")
        for island in found
    }
    counts = Counter(types.values())
    return {top: counts[names] for top, names in types.items()}


def appeared(before: _heap.Graph, after: _heap.Graph) -> set[int]:
    """Return the nodes of `after` that `before` does not have."""
    return {node for row in new_objects(before, after) for node in row.nodes}


def is_lost(group: Group, waiting: Waiting) -> bool:
    """Whether nothing collects the group, and its plain objects take much memory per step. One island is no growth."""
    if len(group.tops) < 2:
        return False
    nbytes = plain_bytes(waiting.before.graph, group.members) if waiting.is_uncollected else 0
    return nbytes >= MIN_OBJECT_BYTES * waiting.steps


def is_large(graph: _heap.Graph, group: Group, steps: int) -> bool:
    """Whether each step leaves a large amount of plain data in such islands: arrays."""
    return plain_bytes(graph, group.members) >= LARGE_BYTES * steps


def holds_tensors(graph: _heap.Graph, group: Group) -> bool:
    """Whether the group has any torch object. A tensor's C++ object may have the address of one that was there before."""
    tensors = tensor_type_names()
    return any(graph.kind(node) in NATIVE or graph.type(node) in tensors for node in group.members)
