"""The difference between two snapshots as a page: what is new, gone and larger, by type and by place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlife.model.heap import HeapDiff, PathChange, TypeChange
from gradlife.reports.document.blocks import NARROW, WIDE
from gradlife.reports.document.tables import Cell, Column, Table
from gradlife.reports.drawing import Cell as Area, treemap
from gradlife.reports.heap.diff import BY_COUNT, BY_IDENTITY, signed
from gradlife.reports.heap.tables import path_text
from gradlife.reports.html.page import render_page
from gradlife.reports.html.traces import Drawn
from gradlife.reports.values import short, short_name, size
from gradlife.reports.visible_report import shows_report

#: Most types with a row, most types with an area, and the height of the map.
TYPES, AREAS, HEIGHT = 2000, 40, 300.0
MAX_LETTERS = 160
#: Most types for which the paths to new objects are shown.
EXAMPLES = 40


@dataclass(frozen=True)
class DiffView:
    """The data of a difference."""

    facts: Sequence[tuple[str, str]]
    note: str
    map: Drawn | None
    types: Table | None
    types_left_out: str
    paths: Table | None
    examples: Sequence[tuple[str, Sequence[str]]]


@shows_report
def diff_page(difference: HeapDiff, before: str, after: str) -> str:
    """Return the page. `before` and `after` name the snapshots."""
    names = f"{os.path.basename(before)} → {os.path.basename(after)}"
    return render_page(f"Difference {short(names, 120)}", "diff.html", view=diff_view(difference))


def diff_view(difference: HeapDiff, rows: int = TYPES) -> DiffView:
    """Collect the data of a comparison."""
    types = difference.types
    rest = types[rows:]
    left_out = (
        f"{len(rest):,} more types with {signed(sum(row.bytes for row in rest))} have no row here." if rest else ""
    )
    return DiffView(
        facts=facts(types, difference.by_identity),
        note="" if difference.by_identity else "The snapshots are of two processes: only counts can be compared.",
        map=grown_map(types),
        types=type_table(difference, rows) if types else None,
        types_left_out=left_out,
        paths=path_table(difference.paths[:rows]) if difference.paths else None,
        examples=list(examples(types)),
    )


def facts(types: Sequence[TypeChange], by_identity: bool) -> list[tuple[str, str]]:
    """Return the totals."""
    new, gone, grown = (sum(getattr(row, name) for row in types) for name in ("new", "gone", "grown"))
    new_bytes, gone_bytes = sum(row.new_bytes for row in types), sum(row.gone_bytes for row in types)
    more, fewer = ("New", "Gone") if by_identity else ("More", "Fewer")
    lines = [(more, f"{new:,}, {size(new_bytes)}"), (fewer, f"{gone:,}, {size(gone_bytes)}")]
    if grown:
        lines.append(("Grown", f"{grown:,}, {signed(sum(row.grown_bytes for row in types))}"))
    return [*lines, ("Together", signed(sum(row.bytes for row in types)))]


def grown_map(types: Sequence[TypeChange]) -> Drawn | None:
    """Draw the types that have grown, by how many bytes."""
    grown = sorted((row for row in types if row.bytes > 0), key=lambda row: -row.bytes)
    if not grown:
        return None
    cells = [area(row) for row in grown[:AREAS]]
    rest = sum(row.bytes for row in grown[AREAS:])
    if rest:
        name = f"{len(grown) - AREAS:,} other types"
        cells.append(Area(name, rest, f"{name}: {signed(rest)}", signed(rest), "quiet"))
    text = "; ".join(cell.description for cell in cells[:8])
    wide, narrow = (treemap(cells, width, HEIGHT, "Types that take more", text) for width in (WIDE + 480, NARROW))
    return Drawn(wide, narrow)


def area(row: TypeChange) -> Area:
    """Return the area of one type."""
    name = short(short_name(row.type), 80)
    text = f"{short(row.type, 80)}: {signed(row.bytes)}, {row.new:,} new, {row.gone:,} gone"
    return Area(name, row.bytes, text, signed(row.bytes), "1" if row.kind == "storage" else "plain")


def type_table(difference: HeapDiff, rows: int) -> Table:
    """Return a row per type."""
    words = ("new", "gone", "grown") if difference.by_identity else ("more", "fewer", "grown")
    columns = [Column("type"), *(Column(word, True) for word in words), Column("bytes", True), Column("kind")]
    lines: list[list[Cell | str | int | float]] = [
        [short(row.type, MAX_LETTERS), row.new, row.gone, row.grown, Cell(signed(row.bytes), row.bytes), row.kind]
        for row in difference.types[:rows]
    ]
    return Table(BY_IDENTITY if difference.by_identity else BY_COUNT, columns, lines, shown=50)


def path_table(paths: Sequence[PathChange]) -> Table:
    """Return a row per place, those of the program first."""
    columns = [
        *map(Column, ("place", "type", "held by")),
        *(Column(word, True) for word in ("before", "after", "bytes")),
    ]
    lines: list[list[Cell | str | int | float]] = [
        [
            short(row.path),
            short(row.type, MAX_LETTERS),
            "the program" if row.is_program else "others",
            row.count_before,
            row.count_after,
            Cell(signed(row.bytes), row.bytes),
        ]
        for row in sorted(paths, key=lambda row: not row.is_program)
    ]
    return Table("Places at which there is more or less", columns, lines, shown=50)


def examples(types: Sequence[TypeChange]) -> Iterator[tuple[str, Sequence[str]]]:
    """Return paths to some new objects of the types that changed most."""
    lines = [row for row in types if any(one.steps for one in row.examples)]
    for row in lines[:EXAMPLES]:
        yield short(row.type, MAX_LETTERS), [short(path_text(one.steps)) for one in row.examples if one.steps]
