"""The difference between two snapshots, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from gradlife.model.heap import HeapDiff, PathChange, TypeChange
from gradlife.reports.heap.tables import named, numbers, path_text, section
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import QUIET
from gradlife.reports.values import counted, size
from gradlife.reports.visible_report import shows_report

IN_PROGRAM = "Held by the program (objects before, after, bytes)"
ELSEWHERE = "Held by libraries and Python (objects before, after, bytes)"
BY_IDENTITY = "Types of which objects came, went or grew (new, gone, bytes)"
BY_COUNT = "Types by count: the snapshots are of two processes (more, fewer, bytes)"


@shows_report
def print_diff(console: Console, difference: HeapDiff, rows: int) -> None:
    """Print the largest changes."""
    for part in parts(difference, rows):
        console.print(part, end="")


def parts(difference: HeapDiff, rows: int) -> Iterator[RenderableType]:
    """Yield the tables, each with its first rows: what the program holds comes first."""
    types, paths = difference.types, difference.paths
    if not types and not paths:
        yield Text("Nothing changed.\n")
        return
    yield from list_places(IN_PROGRAM, [row for row in paths if row.is_program], rows)
    title = BY_IDENTITY if difference.by_identity else BY_COUNT
    yield section(title, [*map(type_line, types[:rows]), *rest(len(types) - rows, "type")])
    yield from list_places(ELSEWHERE, [row for row in paths if not row.is_program], rows)


def list_places(title: str, paths: Sequence[PathChange], rows: int) -> Iterator[RenderableType]:
    """Yield a section of places, unless there are none."""
    if paths:
        yield section(title, [*map(path_line, paths[:rows]), *rest(len(paths) - rows, "place")])


def rest(count: int, noun: str) -> list[RenderableType]:
    """Count the rows that are not shown."""
    return [Hanging(Text("  "), Text(f"and {counted(count, f'more {noun}')}: --rows N", QUIET))] if count > 0 else []


def type_line(row: TypeChange) -> RenderableType:
    """Return a type's changes, and the path to a new object of it."""
    lead = numbers(f"+{row.new:,}" if row.new else "", f"-{row.gone:,}" if row.gone else "", signed(row.bytes))
    name = named(row.type, row.kind)
    if row.grown:
        name.append(f"  {row.grown:,} grown", QUIET)
    if row.examples and row.kind == "python":
        name.append(f"\n{path_text(row.examples[0].steps)}", QUIET)
    return Hanging(lead, name)


def path_line(row: PathChange) -> RenderableType:
    """Format the changes at a place."""
    lead = numbers(f"{row.count_before:,}", f"{row.count_after:,}", signed(row.bytes))
    return Hanging(lead, Text.assemble(row.type, (f"\n{row.path}", QUIET)))


def signed(nbytes: int) -> str:
    """Format bytes with their sign."""
    return ("-" if nbytes < 0 else "+" if nbytes else "") + size(abs(nbytes))
