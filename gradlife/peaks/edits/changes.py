"""Changed lines of a source, and their diff."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator

from gradlife.model.peak.report import LineChange
from gradlife.peaks.sources.program import plain_rows, rows_of


def changed(text: str, changes: Iterable[LineChange]) -> str:
    """Return the text with all changes applied: replacements of a line before insertions above it, equal ones once."""
    lines = rows_of(text)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    found = merged(plain_rows(text), dict.fromkeys(changes))
    for change in sorted(found, key=lambda one: (one.first, one.last), reverse=True):
        if lines and change.first > len(lines) and not lines[-1].endswith(end):
            lines[-1] += end
        lines[change.first - 1 : change.last] = [line + end for line in change.lines]
    return "".join(lines)


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
    """Return the change from one text to another as a unified diff, with the file relative to the working folder."""
    below = os.path.relpath(file)
    name = (file if below.startswith(os.pardir) else below).replace(os.sep, "/").lstrip("/")
    rows = difflib.unified_diff(plain_rows(before), plain_rows(after), f"a/{name}", f"b/{name}", lineterm="", n=2)
    return "\n".join(rows)
