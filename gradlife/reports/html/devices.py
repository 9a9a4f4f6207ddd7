"""The memory of devices as a page: what to do, a map by owner, and a table of owners."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gradlife.model.device.memory import (
    Advice,
    BlockOwner,
    BlockState,
    DeviceMemory,
    DeviceReport,
    MappedSegment,
    OwnerKind,
    Run,
)
from gradlife.reports.devices.terminal import failure_lines, name_of, pinned_lines, short_place, source_line, unused
from gradlife.reports.document.blocks import NARROW, WIDE
from gradlife.reports.document.tables import Cell, Column, Table
from gradlife.reports.document.trace import ASKED
from gradlife.reports.drawing.memory_rows import Bar, MemoryRow, memory_rows
from gradlife.reports.html.page import render_page
from gradlife.reports.html.traces import Drawn, Row, path_rows
from gradlife.reports.values import counted, short, size
from gradlife.reports.visible_report import shows_report

#: Most segments on the map, the largest first, and most runs of blocks in all of them.
MAX_SEGMENTS, MAX_RUNS = 200, 20_000

#: Most owners with a colour of their own; the others share one.
TONES = ("1", "2", "3", "4", "5", "6")
OTHERS, WAITING, FREE = "others", str(BlockState.WAITING), str(BlockState.FREE)

KINDS = {
    OwnerKind.HOLDER: "held by the program",
    OwnerKind.LINE: "allocated at this line, holder not known",
    OwnerKind.LIBRARY: "kept by a library",
    OwnerKind.STREAM: "freed, waits for a stream",
    OwnerKind.UNSEEN: "not known",
}


@dataclass(frozen=True)
class OwnerTrace:
    """What a click on a block shows of its owner."""

    number: int
    name: str
    facts: Sequence[str]
    path: Sequence[Row]


@dataclass(frozen=True)
class DeviceView:
    """One device, ready to be shown."""

    key: str
    name: str
    facts: Sequence[tuple[str, str]]
    failure: Sequence[str]
    advice: Sequence[tuple[str, str, str]]  # bytes, what to do, why
    map: Drawn
    legend: Sequence[tuple[str, str]]
    left_out: str
    owners: Table
    traces: Sequence[OwnerTrace]
    pins: Sequence[str]


@shows_report
def device_page(report: DeviceReport) -> str:
    """Return the page."""
    name = short(os.path.basename(report.source) or report.source, 100)
    return render_page(f"Device memory of {name}", "devices.html", devices=device_views(report), limits=notes(report))


def notes(report: DeviceReport) -> list[str]:
    """Return the cache of pinned memory with its advice, and the limits."""
    return [*(line.plain.strip() for line in pinned_lines(report)), *report.limits]


def device_views(report: DeviceReport | None) -> list[DeviceView]:
    """Return the data of each device; empty without a report."""
    return [device_view(memory, number) for number, memory in enumerate(report.devices)] if report is not None else []


def device_view(memory: DeviceMemory, number: int) -> DeviceView:
    """Collect what the page shows of one device."""
    drawn = drawn_segments(memory)
    return DeviceView(
        key=f"device-{number}",
        name=memory.device,
        facts=facts(memory),
        failure=[line.plain.strip() for line in failure_lines(memory, memory.failed)] if memory.failed else [],
        advice=[advice_row(one) for one in memory.advice],
        map=map_drawing(memory, drawn),
        legend=legend(memory),
        left_out=left_out(memory, drawn),
        owners=owner_table(memory),
        traces=[owner_trace(number, owner) for number, owner in enumerate(memory.owners)],
        pins=pins(memory),
    )


def advice_row(one: Advice) -> tuple[str, str, str]:
    """Return the bytes, what to do, and why with the code of a pattern."""
    return size(one.saved_bytes), short(one.text), f"{one.code}: {one.reason}" if one.code else one.reason


def facts(memory: DeviceMemory) -> list[tuple[str, str]]:
    """Return the sums of the device."""
    rows = [
        ("Reserved", memory.reserved_bytes),
        ("Used", memory.used_bytes),
        ("Waiting for streams", memory.waiting_bytes),
        ("Free in the cache", memory.free_bytes),
        ("Largest free block", memory.largest_free_bytes),
        ("Lost to rounding", memory.rounding_bytes),
    ]
    if memory.drag:
        rows.insert(2, ("Held longer than used", memory.drag_bytes))
    if memory.private_free_bytes:
        rows.append(("Free in private pools", memory.private_free_bytes))
    if memory.outside_bytes:
        rows.append(("Outside of PyTorch's allocator", memory.outside_bytes))
    return [(name, size(nbytes)) for name, nbytes in rows] + [("Segments", f"{memory.segments:,}")]


def drawn_segments(memory: DeviceMemory) -> list[MappedSegment]:
    """Choose the segments that the map has: the largest, as many as a page can show."""
    chosen: list[MappedSegment] = []
    runs = 0
    for segment in sorted(memory.map, key=lambda one: (-one.bytes, one.address))[:MAX_SEGMENTS]:
        runs += len(segment.runs)
        if runs > MAX_RUNS:
            break
        chosen.append(segment)
    return chosen


def left_out(memory: DeviceMemory, drawn: Sequence[MappedSegment]) -> str:
    """Count the segments that the map does not have."""
    rest = len(memory.map) - len(drawn)
    if not rest:
        return ""
    nbytes = sum(one.bytes for one in memory.map) - sum(one.bytes for one in drawn)
    return f"{counted(rest, 'smaller segment')} of {size(nbytes)} in all are not drawn."


def map_drawing(memory: DeviceMemory, segments: Sequence[MappedSegment]) -> Drawn:
    """Draw the map for a wide place and for a narrow one."""
    rows = [memory_row(segment, memory.owners) for segment in segments]
    words = f"{counted(len(rows), 'segment')}, the largest first; the table below has the owners"
    wide, narrow = (memory_rows(rows, width, f"Memory of {memory.device}", words) for width in (WIDE + 480, NARROW))
    return Drawn(wide, narrow)


def memory_row(segment: MappedSegment, owners: Sequence[BlockOwner]) -> MemoryRow:
    """Make a row of a segment."""
    colours = tones(owners)
    pool = ", private pool" if segment.is_private else ""
    words = f"segment of {size(segment.bytes)} at {segment.address:#x}, stream {segment.stream:#x}{pool}"
    return MemoryRow(
        size(segment.bytes), segment.bytes, words, tuple(bar(run, owners, colours) for run in segment.runs)
    )


def bar(run: Run, owners: Sequence[BlockOwner], colours: Mapping[int, str]) -> Bar:
    """Make a bar of a run of blocks."""
    owner = owners[run.owner] if run.owner >= 0 else None
    words = f"{name_of(owner) if owner else 'free'}: {size(run.bytes)}, {counted(run.blocks, 'block')}"
    colour = colours.get(run.owner, OTHERS) if run.state is BlockState.USED else str(run.state)
    return Bar(run.offset, run.bytes, colour, short(words), run.owner)


def tones(owners: Sequence[BlockOwner]) -> dict[int, str]:
    """Return the colours of the largest owners, by their number."""
    coloured = [number for number, owner in enumerate(owners) if owner.kind is not OwnerKind.STREAM]
    return dict(zip(coloured, TONES, strict=False))


def legend(memory: DeviceMemory) -> list[tuple[str, str]]:
    """Return the meaning of the colours: class and text."""
    states = {run.state for segment in memory.map for run in segment.runs}
    colours = tones(memory.owners)
    lines = [(colour, short(name_of(memory.owners[number]))) for number, colour in colours.items()]
    used = sum(owner.kind is not OwnerKind.STREAM for owner in memory.owners)
    lines += [(OTHERS, "other owners")] * (used > len(colours))
    lines += [(WAITING, "freed, waits for a stream")] * (BlockState.WAITING in states)
    return lines + [(FREE, "free")] * (BlockState.FREE in states)


def owner_trace(number: int, owner: BlockOwner) -> OwnerTrace:
    """Return the trace of an owner: where it was allocated, and what holds it."""
    facts = [f"{size(owner.bytes)} in {counted(owner.blocks, 'block')}{unused(owner)}; {KINDS[owner.kind]}"]
    facts += [f"allocated at {place_of(owner)}"] if owner.place is not None else []
    facts += [owner.path] if owner.path and not owner.trace else []
    steps = [replace(step, is_suspect=False) for step in owner.trace]  # nothing here claims that it leaks
    return OwnerTrace(number, short(name_of(owner)), [short(one, 400) for one in facts], path_rows(steps, ASKED))


def owner_table(memory: DeviceMemory) -> Table:
    """Return the owners with their lines, each with the number that its blocks have on the map."""
    columns = [
        Column("owner"),
        Column("bytes", True),
        Column("share", True),
        Column("blocks", True),
        Column("not read again", True),
        Column("allocated at"),
        Column("known as"),
        Column("held through"),
    ]
    whole = max(1, memory.used_bytes + memory.waiting_bytes)
    rows: list[list[Cell | str | int | float]] = [
        [
            Cell(short(name_of(owner))),
            Cell(size(owner.bytes), owner.bytes),
            Cell(f"{owner.bytes / whole:.1%}", owner.bytes / whole),
            owner.blocks,
            Cell(size(owner.unused_bytes) if owner.unused_bytes else "", owner.unused_bytes),
            short(place_of(owner)),
            KINDS[owner.kind],
            short(owner.path, 400),
        ]
        for owner in memory.owners
    ]
    tags = [f"owner-{number}" for number in range(len(rows))]
    return Table("Owners of the blocks in use", columns, rows, tags=tags)


def place_of(owner: BlockOwner) -> str:
    """Return the line that allocated the largest block, with its source if the file is on this machine."""
    if owner.place is None:
        return ""
    return f"{short_place(owner.place)}  {source_line(owner.place)}".strip()


def pins(memory: DeviceMemory) -> list[str]:
    """Return a sentence for each owner that keeps free memory from being returned."""
    names = {owner.text: name_of(owner) for owner in memory.owners}
    return [
        f"{short(names.get(pin.owner, pin.owner))}: {counted(pin.blocks, 'block')} of {size(pin.bytes)} keep "
        f"{size(pin.free_bytes)} of free memory in their segments"
        for pin in memory.pins
    ]
