"""Memory that a finished step still holds, though nothing grows: its graph, its frames, or unread activations.

At a step boundary the step's graph is no longer needed. A storage is retained without need if only a grad node, a
dead frame, or an attribute that a module never declared keeps it alive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gradlife import _heap
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, context_type_names, storage_content

#: Smaller amounts are not shown.
MIN_BYTES = 8 * 1024

#: The root of all graphs, and what stands for the owner of a node that does not count.
PROCESS, OUTSIDE = 0, -1

#: Python types that only a failed step leaves behind.
FRAMES = {"frame", "traceback"}


@dataclass
class Kept:
    """Storages that one object of a finished step keeps."""

    owner: int  # the node of this object: a grad node or a dead frame, for example
    storages: list[int] = field(default_factory=list)
    bytes: int = 0


def kept_by_steps(snapshot: StepSnapshot, grown: Iterable[int]) -> list[Kept]:
    """Find storages reachable only through a grad node or a dead frame, grouped by the one nearest to a root."""
    return together(snapshot.graph, kept_in(snapshot.graph, grown))


def kept_in(graph: _heap.Graph, grown: Iterable[int] = ()) -> list[Kept]:
    """Find the storages that each grad node or dead frame keeps, including small ones."""
    found: dict[int, Kept] = {}
    for storage, owner in outermost_owners(graph, storages_of(graph), set(grown)):
        kept = found.setdefault(owner, Kept(owner))
        kept.storages.append(storage)
        kept.bytes += storage_content(graph, storage)
    return list(found.values())


def outermost_owners(graph: _heap.Graph, nodes: Iterable[int], skipped: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the nodes that an object of a finished step keeps and nothing in ``skipped`` does, with the outermost such object.

    Each node above is visited once: of the many storages of a deep graph, all would walk up through the same nodes.
    """
    contexts = context_type_names()
    owners: dict[int, int | None] = {PROCESS: OUTSIDE if PROCESS in skipped else None}
    for node in nodes:
        path: list[int] = []
        at: int | None = node
        while at is not None and at not in owners:
            path.append(at)
            at = graph.dominator(at)
        owner = owners[at] if at is not None else OUTSIDE
        for one in reversed(path):
            if one in skipped:
                owner = OUTSIDE
            elif owner is None and is_of_a_step(graph, one, contexts):
                owner = one
            owners[one] = owner
        if owner is not None and owner != OUTSIDE:
            yield node, owner


def together(graph: _heap.Graph, found: list[Kept]) -> list[Kept]:
    """Merge the groups held by the same object, and drop the small ones."""
    places: defaultdict[int, list[Kept]] = defaultdict(list)
    for kept in found:
        places[python_holder(graph, kept.owner)].append(kept)
    rows = []
    for parts in places.values():
        first = max(parts, key=lambda one: one.bytes)
        storages = [storage for part in parts for storage in part.storages]
        rows.append(Kept(first.owner, storages, sum(part.bytes for part in parts)))
    return sorted((row for row in rows if row.bytes >= MIN_BYTES), key=lambda row: -row.bytes)


def python_holder(graph: _heap.Graph, node: int) -> int:
    """Return the nearest dominator that is a Python object other than a tensor."""
    for above in dominators(graph, node):
        kind, name = graph.kind_and_type(above)
        if kind in {"python", "root"} and name != "torch.Tensor":
            return above
    return 0


def is_of_a_step(graph: _heap.Graph, node: int, contexts: frozenset[str]) -> bool:
    """Whether the node should end with its step: a grad node, its context, a frame that returned."""
    kind, name = graph.kind_and_type(node)
    return kind == "grad_node" or (kind == "python" and (name in FRAMES or name in contexts))


def storages_of(graph: _heap.Graph) -> Iterator[int]:
    """Yield all storages of the graph."""
    for name, kind, _, _ in graph.census():
        if kind == "storage":
            yield from graph.of_type(name)


def dominators(graph: _heap.Graph, node: int) -> Iterator[int]:
    """Yield the dominators of a node, nearest first."""
    at = graph.dominator(node)
    while at is not None and at != node:
        yield at
        node, at = at, graph.dominator(at)
