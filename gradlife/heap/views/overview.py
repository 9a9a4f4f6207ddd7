"""The summary of a snapshot that `gradlife open FILE` and notebooks show first."""

from __future__ import annotations

from dataclasses import replace

from gradlife.heap.snapshot import Snapshot
from gradlife.heap.views.heap_map import heap_map
from gradlife.heap.views.program_objects import ProgramObjects
from gradlife.model.device.codec import NOTE, report_in
from gradlife.model.heap import HeapView
from gradlife.model.heap_map import HeapSummary

#: Cyclic parts on a page.
CYCLES = 8

#: Unreachable cyclic parts from which the program's are chosen.
MAX_CYCLES = 100

#: Variables of the program on the first screen.
VARIABLES = 8


def overview(snapshot: Snapshot, name: str, types: int | None = None, cycles: int = CYCLES) -> HeapView:
    """Summarize a snapshot: sizes, origin, all types or the first ones, and the first cycles."""
    return HeapView(
        file=name,
        notes=tuple(note for note in snapshot.notes if note[0] != NOTE),
        objects=snapshot.objects,
        references=snapshot.references,
        bytes=snapshot.bytes,
        devices=tuple(snapshot.devices().items()),
        types=snapshot.types()[:types],
        largest=(),
        cycles=snapshot.cycles(cycles) if cycles else (),
        instances=(),
        holders=(),
        device_memory=report_in(snapshot.notes),
    )


def page_view(snapshot: Snapshot, name: str) -> HeapView:
    """Return the tables of a snapshot's page, with what the program's variables hold."""
    return replace(overview(snapshot, name), program=ProgramObjects(snapshot).rows(VARIABLES))


def program_view(snapshot: Snapshot, name: str) -> HeapView:
    """Return what the program's variables hold, a line per library, and unreachable cyclic parts."""
    objects = ProgramObjects(snapshot)
    view = overview(snapshot, name, types=0, cycles=0)
    cycles = [one for one in snapshot.unreached_cycles(MAX_CYCLES) if objects.is_of_program(one)]
    return replace(view, program=objects.rows(VARIABLES), libraries=objects.libraries(), cycles=tuple(cycles[:CYCLES]))


def summary(snapshot: Snapshot) -> HeapSummary:
    """Return the summary that a notebook shows."""
    return HeapSummary(overview(snapshot, "", types=12, cycles=0), heap_map(snapshot, objects=60, areas=30))
