"""Changed lines of a source, and their diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradlife.model.peak.report import LineChange
from gradlife.model.source_text import plain_rows, rows_of
from gradlife.peaks.sources.folder import shown_file
from gradlife.source.diffs import unified


def changed(text: str, changes: Iterable[LineChange]) -> str:
    """Return the text with all changes applied: replacements of a line before insertions above it, equal ones once."""
    lines = rows_of(text)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    rows = plain_rows(text)
    for change in from_the_end(nested(rows, list(dict.fromkeys(changes)))):
        if lines and change.first > len(lines) and not lines[-1].endswith(end):
            lines[-1] += end
        lines[change.first - 1 : change.last] = [line + end for line in change.lines]
    return "".join(lines)


def from_the_end(changes: Iterable[LineChange]) -> list[LineChange]:
    """Return changes in the order in which they leave the numbers of the others as they are.

    Of lines put in at one place, the deepest come last, which makes them the first: they belong to the block above.
    """
    return sorted(changes, key=lambda one: (one.first, one.last, -depth_of(one)), reverse=True)


def depth_of(change: LineChange) -> int:
    """Return the indentation of the first new line."""
    return len(change.lines[0]) - len(change.lines[0].lstrip()) if change.lines else 0


def nested(rows: list[str], changes: list[LineChange]) -> Iterator[LineChange]:
    """Yield the changes, with those of lines that another one puts below a new head as a part of it."""
    outer = [one for one in changes if is_below_head(rows, one)]
    for one in outer:
        inside = [other for other in changes if other is not one and one.first <= other.last <= one.last]
        inside = [other for other in inside if other.first > one.first or other.last >= other.first]
        changes = [other for other in changes if other not in (one, *inside)]
        yield with_inner(rows, one, inside)
    yield from merged(rows, changes)


def is_below_head(rows: list[str], change: LineChange) -> bool:
    """Whether a change puts a new line above some lines, and these deeper."""
    before, after = rows[change.first - 1 : change.last], change.lines[1:]
    pairs = zip(before, after, strict=False)
    return bool(before) and len(before) == len(after) and all(b != a and a.endswith(b) for b, a in pairs if b)


def with_inner(rows: list[str], outer: LineChange, inside: Iterable[LineChange]) -> LineChange:
    """Return a change with a new head, and with other changes of the lines below it."""
    more = outer.lines[1].removesuffix(rows[outer.first - 1])
    lines = rows[outer.first - 1 : outer.last]
    for one in from_the_end(merged(rows, inside)):
        lines[one.first - outer.first : one.last - outer.first + 1] = one.lines
    deeper = (f"{more}{line}" if line.strip() else line for line in lines)
    return LineChange(outer.first, outer.last, (outer.lines[0], *deeper))


def merged(rows: list[str], changes: Iterable[LineChange]) -> Iterator[LineChange]:
    """Yield the changes, with those that alter different parts of one row as one."""
    by_row = dict[int, list[str]]()
    for change in changes:
        if change.first == change.last and len(change.lines) == 1:
            by_row.setdefault(change.first, []).append(change.lines[0])
        else:
            yield change
    for number, others in by_row.items():
        row = rows[number - 1]
        for start, stop, text in sorted((altered_part(row, other) for other in others), reverse=True):
            row = row[:start] + text + row[stop:]
        yield LineChange(number, number, (row,))


def altered_part(row: str, other: str) -> tuple[int, int, str]:
    """Return which part of a row another one replaces, and by what."""
    start = alike(row, other)
    same = min(alike(row[::-1], other[::-1]), min(len(row), len(other)) - start)
    return start, len(row) - same, other[start : len(other) - same]


def alike(one: str, other: str) -> int:
    """Count the characters with which both texts begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def diff(file: str, before: str, after: str) -> str:
    """Return the change from one text to another as a unified diff, with the file relative to the folder of the start."""
    return "\n".join(unified(shown_file(file), plain_rows(before), plain_rows(after), context=2, end=""))
