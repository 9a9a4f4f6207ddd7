"""The summary of a snapshot that `gradlife open FILE` and notebooks show first."""

from __future__ import annotations

from gradlife.heap.heap_map import heap_map
from gradlife.heap.snapshot import Snapshot
from gradlife.model.heap import HeapView
from gradlife.model.heap_map import HeapSummary

#: Cyclic parts that a page has.
CYCLES = 8


def overview(snapshot: Snapshot, name: str, types: int | None = None, cycles: int = CYCLES) -> HeapView:
    """Its sizes and origin, all types or so many, and the first cyclic parts."""
    return HeapView(
        file=name,
        notes=snapshot.notes,
        objects=snapshot.objects,
        references=snapshot.references,
        bytes=snapshot.bytes,
        devices=tuple(snapshot.devices().items()),
        types=snapshot.types()[:types],
        largest=(),
        cycles=snapshot.cycles(cycles) if cycles else (),
        instances=(),
        holders=(),
    )


def summary(snapshot: Snapshot) -> HeapSummary:
    """Return the summary that a notebook shows."""
    return HeapSummary(overview(snapshot, "", types=12, cycles=0), heap_map(snapshot, objects=60, areas=30))
