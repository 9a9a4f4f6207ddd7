"""What each round added to resident memory: the pages that the system counts, beside all that the heap graph explains."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.hunting.snapshots.step_snapshots import ARRAY, StepSnapshot
from gradlife.model.memory_balance import MemoryBalance

#: Python objects of at least so many bytes are from malloc: the largest of CPython's own allocator, and a header.
LARGE_OBJECT = 512 + 64


@dataclass(frozen=True)
class Contents:
    """Bytes in a heap graph that malloc handed out for what it knows."""

    tensors: int
    arrays: int
    large_objects: int


def contents_of(snapshot: StepSnapshot) -> Contents:
    """Sum up a snapshot's graph. Reads the graph, unless another copy of the process has done so."""

    def work() -> Contents:
        graph = snapshot.graph
        arrays = sum(graph.describe(node).bytes or 0 for node in graph.nodes("python", ARRAY))
        tensors = 0 if snapshot.free_on_devices else int(snapshot.totals.bytes) - graph.borrowed_bytes
        return Contents(tensors, arrays, max(0, graph.large_bytes(LARGE_OBJECT) - arrays))

    return snapshot.noted("contents", work)


def balance_of(before: StepSnapshot, after: StepSnapshot) -> MemoryBalance | None:
    """Return what was added between two snapshots; None if a snapshot does not know its memory."""
    old, new = before.memory, after.memory
    if old is None or new is None:
        return None
    held, holds = contents_of(before), contents_of(after)
    tensors, arrays = holds.tensors - held.tensors, holds.arrays - held.arrays
    large = holds.large_objects - held.large_objects
    return MemoryBalance(
        resident=new.resident - old.resident,
        tensors=tensors,
        arrays=arrays,
        objects=new.small_objects - old.small_objects + large,
        native=new.malloc - old.malloc - tensors - arrays - large,
        reserve=new.malloc_free + new.small_free - old.malloc_free - old.small_free,
        files=new.files - old.files,
        shared=new.shared - old.shared,
        mapped=new.mapped - old.mapped,
    )
