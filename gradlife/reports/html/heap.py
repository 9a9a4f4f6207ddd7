"""A snapshot as a page: a map of the largest holders, each with its neighbourhood, types and cycles."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from gradlife.model.heap import Cycle, HeapView, HeldVariable, TypeCount
from gradlife.model.heap_map import HeapMap, MappedObject, OtherEnd
from gradlife.model.trace import Lifetime
from gradlife.reports.document.tables import Cell, Column, Table
from gradlife.reports.heap.tables import FATES, content_words
from gradlife.reports.html.devices import DeviceView, device_views
from gradlife.reports.html.heap_map import heap_drawing, legend, what
from gradlife.reports.html.page import render_page
from gradlife.reports.html.traces import Drawn, Row, path_rows, ring_drawing
from gradlife.reports.values import counted, short, size
from gradlife.reports.visible_report import shows_report

#: Most types on a page, those with the most bytes.
TYPES = 2000
#: Most letters of a name in the page's data.
MAX_LETTERS = 120
STYLES = {Lifetime.HELD: "held", Lifetime.GC: "gc", Lifetime.NEVER: "never", Lifetime.UNKNOWN: "inconclusive"}


@dataclass(frozen=True)
class CycleView:
    """The data of a cyclic part."""

    word: str
    style: str
    summary: str
    ring: Drawn | None
    members: Sequence[Row]


@dataclass(frozen=True)
class HeapPage:
    """The data of a snapshot's page."""

    facts: Sequence[tuple[str, str]]
    limits: Sequence[str]
    program: Table
    map: Drawn
    legend: Sequence[tuple[str, str]]
    left_out: Sequence[str]
    objects: Table
    types: Table
    types_left_out: str
    cycles: Sequence[CycleView]
    commands: Sequence[tuple[str, str]]
    data: dict[str, object]
    devices: Sequence[DeviceView] = ()


@shows_report
def heap_page(view: HeapView, found: HeapMap) -> str:
    """Return the page. `view` has the types and cycles, `found` the objects."""
    name = os.path.basename(view.file) or view.file
    return render_page(f"Snapshot {short(name, 100)}", "heap.html", view=page_of(view, found))


def page_of(view: HeapView, found: HeapMap) -> HeapPage:
    """Collect the data of the page."""
    return HeapPage(
        facts=facts(view),
        limits=[short(value) for key, value in view.notes if key == "limit"],
        program=program_table(view.program, found),
        map=heap_drawing(found),
        legend=legend(found),
        left_out=left_out(view, found),
        objects=object_table(found.objects),
        types=type_table(view.types[:TYPES]),
        types_left_out=types_left_out(view),
        cycles=[cycle_view(one) for one in view.cycles],
        commands=commands(view.file),
        data=data_of(view, found),
        devices=device_views(view.device_memory),
    )


def facts(view: HeapView) -> list[tuple[str, str]]:
    """Yield the size of the graph, and its origin."""
    lines = [("Objects", f"{view.objects:,}"), ("References", f"{view.references:,}"), ("Bytes", size(view.bytes))]
    lines += [(f"Storages on {device}", size(nbytes)) for device, nbytes in view.devices]
    notes = dict(view.notes)
    return lines + [(key.capitalize(), short(notes[key])) for key in ("taken", "python", "torch") if key in notes]


def left_out(view: HeapView, found: HeapMap) -> list[str]:
    """Yield what the page leaves out."""
    lines = [
        f"The page has {counted(len(found.objects), 'object')} of {view.objects:,}, those that retain most, "
        f"down to {found.depth} levels of keepers below the roots."
    ]
    if found.unreached_count:
        lines.append(
            f"No root reaches {size(found.unreached_bytes)} of all: {counted(found.unreached_count, 'object')} with what "
            "they keep. They are not on the map."
        )
    return lines


def types_left_out(view: HeapView) -> str:
    """Return the types that have no row."""
    rest = view.types[TYPES:]
    if not rest:
        return ""
    return f"{counted(len(rest), 'more type')} with {size(sum(row.bytes for row in rest))} have no row here."


def program_table(variables: Sequence[HeldVariable], found: HeapMap) -> Table:
    """Return the variables of the program, each a link to the neighbourhood of its object if that is on the page."""
    columns = [
        Column("variable"),
        Column("retains", True, "what would be freed with it"),
        Column("object"),
        Column("in it"),
    ]
    rows: list[list[Cell | str | int | float]] = [
        [
            Cell(short(one.name, MAX_LETTERS), link=link_to(one, found)),
            Cell(size(one.object.retained), one.object.retained),
            short(f"{one.object.type} {one.object.detail}".rstrip(), MAX_LETTERS),
            ", ".join(content_words(one)),
        ]
        for one in variables
    ]
    return Table("What would be freed with each variable", columns, rows)


def link_to(variable: HeldVariable, found: HeapMap) -> str:
    """Return the link to a variable's object; empty if the page does not have it."""
    node = node_of(variable, found)
    return f"object-{node}" if node else ""


def node_of(variable: HeldVariable, found: HeapMap) -> int:
    """Return the node of a variable's object; 0 if the page does not have it."""
    return next((one.node for one in found.objects if one.address == variable.object.address), 0)


def object_table(objects: Sequence[MappedObject]) -> Table:
    """Return the objects, each a link to its neighbourhood."""
    columns = [
        Column("object"),
        Column("held as"),
        Column("retains", True, "what would be freed with it"),
        Column("itself", True),
        Column("keeps", True, "objects that only it keeps, directly"),
        Column("kind"),
    ]
    rows: list[list[Cell | str | int | float]] = [
        [
            Cell(short(what(one), MAX_LETTERS), link=f"object-{one.node}"),
            short(one.via, MAX_LETTERS),
            Cell(size(one.retained), one.retained),
            Cell(size(one.bytes), one.bytes),
            one.kept_count,
            one.kind if one.above >= 0 else f"{one.kind}, no root reaches it",
        ]
        for one in objects
    ]
    return Table("Objects that retain most", columns, rows, shown=50)


def type_table(types: Sequence[TypeCount]) -> Table:
    """Return the types, those with the most bytes first."""
    columns = [Column("type"), Column("objects", True), Column("bytes", True), Column("each", True), Column("kind")]
    rows: list[list[Cell | str | int | float]] = [
        [
            short(row.type, MAX_LETTERS),
            row.count,
            Cell(size(row.bytes), row.bytes),
            Cell(size(row.bytes // max(1, row.count)), row.bytes // max(1, row.count)),
            row.kind,
        ]
        for row in types
    ]
    return Table("Types that take most", columns, rows, shown=50)


def cycle_view(cycle: Cycle) -> CycleView:
    """Return a cyclic part with a short cycle in it."""
    text = f"{counted(cycle.objects, 'object')}, {size(cycle.bytes)}" + (", native references" * cycle.has_native)
    ring = ring_drawing(cycle.steps) if cycle.steps else None
    return CycleView(FATES[cycle.lifetime][0], STYLES[cycle.lifetime], text, ring, path_rows(cycle.steps, is_ring=True))


def commands(file: str) -> list[tuple[str, str]]:
    """Yield the commands that show more."""
    name = shlex.quote(short(file))
    return [
        (f"gradlife why {name} ADDRESS", "why one object is alive: the whole path from a root"),
        (f"gradlife open {name} --instances TYPE", "objects of a type, with the path to each"),
        (f"gradlife open {name} --largest 1000", "more objects that retain most"),
        (f"gradlife open {name} -i", "every object, asked at a prompt"),
    ]


def data_of(view: HeapView, found: HeapMap) -> dict[str, object]:
    """Return the data for the page's script: types by number, objects as rows."""
    types: dict[str, int] = {}
    objects = [object_row(one, types) for one in found.objects]
    return {
        "file": shlex.quote(short(view.file)),
        "total": found.reached_bytes,
        "first": first_of(view, found),
        "types": [*types],
        "objects": objects,
    }


def first_of(view: HeapView, found: HeapMap) -> int:
    """Return the object to show at first: what the program holds most by, else the largest holder on the map."""
    of_program = next(filter(None, (node_of(one, found) for one in view.program)), 0)
    if of_program:
        return of_program
    areas = [area for area in found.areas if not area.is_rest]
    return max(areas, key=lambda area: area.bytes).holder.node if areas else 0


def object_row(one: MappedObject, types: dict[str, int]) -> list[object]:
    """Return an object as the script reads it, with fields in its order."""
    return [
        one.node,
        one.above,
        one.kind,
        number_of(one.type, types),
        short(one.detail, MAX_LETTERS),
        f"{one.address:#x}",
        one.bytes,
        one.retained,
        short(one.via, MAX_LETTERS),
        [list(pair) for pair in one.storages],
        [neighbour_row(other, types) for other in one.kept],
        one.kept_count,
        [neighbour_row(other, types) for other in one.referrers],
        one.referrer_count,
        [neighbour_row(other, types) for other in one.referents],
        one.referent_count,
    ]


def neighbour_row(one: OtherEnd, types: dict[str, int]) -> list[object]:
    """Return the object at the other end of a reference."""
    detail, via = short(one.detail, MAX_LETTERS), short(one.via, MAX_LETTERS)
    return [one.node, number_of(one.type, types), detail, f"{one.address:#x}", one.retained, via]


def number_of(name: str, types: dict[str, int]) -> int:
    """Return the number of a type; a new one if it has none yet."""
    return types.setdefault(short(name, MAX_LETTERS), len(types))
