"""What the difference between two snapshots says: what is new, gone and larger, by place and by type."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console

from gradlife.model.heap import HeapDiff, LibraryChange, PathChange, TypeChange, VariableChange
from gradlife.model.trace import PathStep
from gradlife.reports.document.blocks import (
    WIDE,
    Block,
    Document,
    Drawing,
    Facts,
    Item,
    List,
    Paragraph,
    Section,
    Words,
)
from gradlife.reports.document.tables import Cell, Column, Table
from gradlife.reports.document.terminal import print_document
from gradlife.reports.heap.tables import path_text
from gradlife.reports.values import counted, short, short_name, size
from gradlife.reports.visible_report import shows_report

#: Most rows of a table on a page, most types with an area, and the height of the map.
ROWS, AREAS, HEIGHT = 2000, 40, 300.0
#: Most types for which the paths to new objects are shown.
EXAMPLES = 40


def print_diff(console: Console, difference: HeapDiff, rows: int, is_all: bool = False) -> None:
    """Print the largest changes; what libraries hold only in a row each, unless all is asked for."""
    if not is_all and difference.libraries:
        difference = replace(difference, paths=tuple(row for row in difference.paths if row.is_program))
    print_document(console, diff_document(difference, rows=rows, more=": --rows N"))


@shows_report
def diff_document(
    difference: HeapDiff, before: str = "", after: str = "", rows: int = ROWS, more: str = ""
) -> Document:
    """Return the difference. `before` and `after` name the snapshots, and `more` says how to see further rows."""
    types = difference.types
    head: list[Block] = [Facts((*moment_facts(difference), *facts(types, difference.by_identity)))]
    if not difference.by_identity:
        head.append(Paragraph("The snapshots are of two processes: only counts can be compared.", tone="note"))
    sections = (
        *variable_section(difference, rows, more),
        *place_section("Held by the program", [row for row in difference.paths if row.is_program], rows, more),
        *map_section(types),
        *type_section(difference, rows, more),
        *library_section(difference.libraries, rows, more),
        *place_section(
            "Held by libraries and Python", [row for row in difference.paths if not row.is_program], rows, more
        ),
        *example_section(types[:rows], 1 if more else EXAMPLES),
    )
    if not sections:
        head = [Paragraph("Nothing changed.")]
    title = f"Difference {os.path.basename(before)} → {os.path.basename(after)}" if before else "What changed"
    return Document(title, "gradlife diff", "", "", "", "", tuple(head), sections)


def moment_facts(difference: HeapDiff) -> Iterator[tuple[str, Words]]:
    """Yield when the snapshots were taken, if they say it."""
    if difference.moments:
        yield "taken when", " → ".join(dict.fromkeys(difference.moments))


def variable_section(difference: HeapDiff, rows: int, more: str) -> Iterator[Section]:
    """Yield a row for each variable of the program that retains another number of bytes, with the growth of a step."""
    variables = difference.variables
    steps = difference.steps[-1] - difference.steps[0] if difference.steps else 0
    names = ["before", "after", "gained", *(["a step"] if steps > 0 else [])]
    lines: list[list[Cell | str | int | float]] = [
        [
            row.name,
            f"{short_name(row.type)} {row.detail}".rstrip(),
            Cell(size(row.bytes_before), row.bytes_before),
            Cell(size(row.bytes_after), row.bytes_after),
            Cell(signed(row.bytes), row.bytes),
            *([Cell(signed(round(row.bytes / steps)), row.bytes)] if steps > 0 else []),
        ]
        for row in variables[:rows]
    ]
    if lines:
        columns = [*map(Column, ("variable", "now")), *(Column(name, True) for name in names)]
        table = Table("Bytes that would be freed with each", columns, lines, shown=50, key="variable-table")
        title = "What the program's variables gained"
        yield Section(title, (table, *rest(variables[rows:], "variable", more)), "variables")


def library_section(libraries: Sequence[LibraryChange], rows: int, more: str) -> Iterator[Section]:
    """Yield a row for each library."""
    lines: list[list[Cell | str | int | float]] = [
        [
            row.name,
            *(Cell(size(one), one) for one in (row.bytes_before, row.bytes_after)),
            Cell(signed(row.bytes), row.bytes),
        ]
        for row in libraries[:rows]
    ]
    if lines:
        columns = [Column("library"), *(Column(word, True) for word in ("before", "after", "gained"))]
        table = Table("Bytes that the modules of each reach first", columns, lines, shown=50, key="library-table")
        yield Section("Libraries and Python", (table, *rest(libraries[rows:], "library", more)), "libraries")


def facts(types: Sequence[TypeChange], by_identity: bool) -> Iterator[tuple[str, Words]]:
    """Yield the totals."""
    new, gone, grown = (sum(getattr(row, name) for row in types) for name in ("new", "gone", "grown"))
    more, fewer = ("new", "gone") if by_identity else ("more", "fewer")
    yield more, f"{new:,}, {size(sum(row.new_bytes for row in types))}"
    yield fewer, f"{gone:,}, {size(sum(row.gone_bytes for row in types))}"
    if grown:
        yield "grown", f"{grown:,}, {signed(sum(row.grown_bytes for row in types))}"
    yield "together", signed(sum(row.bytes for row in types))


def map_section(types: Sequence[TypeChange]) -> Iterator[Section]:
    """Yield a drawing of the types that have grown, by how many bytes."""

    def draw(width: float) -> str:
        from gradlife.reports.drawing import Cell as Area, treemap  # only pages draw

        cells = [
            Area(
                short(short_name(row.type), 80),
                row.bytes,
                f"{short(row.type, 80)}: {signed(row.bytes)}, {row.new:,} new, {row.gone:,} gone",
                signed(row.bytes),
                "1" if row.kind == "storage" else "plain",
            )
            for row in grown[:AREAS]
        ]
        if rest := sum(row.bytes for row in grown[AREAS:]):
            name = f"{len(grown) - AREAS:,} other types"
            cells.append(Area(name, rest, f"{name}: {signed(rest)}", signed(rest), "quiet"))
        text = "; ".join(cell.description for cell in cells[:8])
        return treemap(cells, width, HEIGHT, "Types that take more", text)

    grown = sorted((row for row in types if row.bytes > 0), key=lambda row: -row.bytes)
    if grown:
        yield Section("Types that take more, by bytes", (Drawing(draw, wide=WIDE + 480),), "map")


def type_section(difference: HeapDiff, rows: int, more: str) -> Iterator[Section]:
    """Yield a row per type."""
    types = difference.types
    words = ("new", "gone", "grown") if difference.by_identity else ("more", "fewer", "grown")
    columns = [Column("type"), *(Column(word, True) for word in (*words, "bytes")), Column("kind")]
    lines: list[list[Cell | str | int | float]] = [
        [row.type, row.new, row.gone, row.grown, Cell(signed(row.bytes), row.bytes), row.kind] for row in types[:rows]
    ]
    if lines:
        caption = "Types of which objects came, went or grew" if difference.by_identity else "Types by count"
        table = Table(caption, columns, lines, shown=50, key="type-table")
        yield Section(caption, (table, *rest(types[rows:], "type", more)), "types")


def place_section(title: str, paths: Sequence[PathChange], rows: int, more: str) -> Iterator[Section]:
    """Yield a row per place."""
    columns = [*map(Column, ("place", "type")), *(Column(word, True) for word in ("before", "after", "bytes"))]
    lines: list[list[Cell | str | int | float]] = [
        [row.path, row.type, row.count_before, row.count_after, Cell(signed(row.bytes), row.bytes)]
        for row in paths[:rows]
    ]
    if lines:
        key = "program" if paths[0].is_program else "others"
        table = Table("Places at which there is more or less", columns, lines, shown=50, key=f"{key}-table")
        yield Section(title, (table, *rest(paths[rows:], "place", more)), key)


def rest(
    rows: Sequence[TypeChange | PathChange | VariableChange | LibraryChange], noun: str, more: str
) -> Iterator[Paragraph]:
    """Yield how many rows are not shown."""
    if rows:
        amount = signed(sum(row.bytes for row in rows))
        several = "more libraries" if noun == "library" else ""
        yield Paragraph(f"and {counted(len(rows), f'more {noun}', several)} with {amount}{more}", tone="quiet")


def example_section(types: Sequence[TypeChange], each: int) -> Iterator[Section]:
    """Yield paths to some new objects of the types that changed most, without those that gradlife itself imported since."""
    found = [(row.type, [one.steps for one in row.examples if is_of_others(one.steps)]) for row in types]
    items = [
        Item(type_, below=tuple(map(path_text, paths[:each])))
        for type_, paths in [row for row in found if row[1]][:EXAMPLES]
    ]
    if items:
        yield Section("Paths to new objects", (List(tuple(items)),), "examples")


def is_of_others(steps: Sequence[PathStep]) -> bool:
    """Whether a path begins elsewhere than in a module of gradlife's."""
    return bool(steps) and steps[0].module.partition(".")[0] != "gradlife"


def signed(nbytes: int) -> str:
    """Format bytes with their sign."""
    return ("-" if nbytes < 0 else "+" if nbytes else "") + size(abs(nbytes))
