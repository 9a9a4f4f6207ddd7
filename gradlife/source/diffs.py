"""Unified diffs: made of two texts, and applied to one as `git apply` does, at their line or where their lines stand now."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

HEAD = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
NO_NEWLINE = "\\ No newline at end of file\n"


class NotApplicable(ValueError):
    """The text does not have the lines that a diff changes."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines, with their ends, and the lines that replace them."""

    line: int  # the first line's number, counted from 0
    old: tuple[str, ...]
    new: tuple[str, ...]


def git_rows(text: str) -> list[str]:
    """Split a text into lines with their ends, as git counts them."""
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def unified(file: str, before: Sequence[str], after: Sequence[str], context: int = 3, end: str = "\n") -> list[str]:
    """Return the rows of the diff of one file, given as rows. ``end``: of the rows that name the file and the places."""
    name = file.replace(os.sep, "/").lstrip("/")
    return list(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", n=context, lineterm=end))


def patched(text: str, diff: str) -> str:
    """Return the changed text. Raises NotApplicable."""
    rows = git_rows(text)
    shift = 0
    for hunk in hunks(diff):
        at = place_of(hunk.old, rows, hunk.line + shift)
        rows[at : at + len(hunk.old)] = hunk.new
        shift = at - hunk.line + len(hunk.new) - len(hunk.old)
    return "".join(rows)


def place_of(old: Sequence[str], rows: Sequence[str], near: int) -> int:
    """Return the index of the lines that is nearest to the expected one."""
    places = [at for at in range(len(rows) - len(old) + 1) if tuple(rows[at : at + len(old)]) == tuple(old)]
    if not places:
        raise NotApplicable(f"line {near + 1} and those around it have changed")
    return min(places, key=lambda at: abs(at - near))


def hunks(diff: str) -> Iterator[Hunk]:
    """Yield the hunks of a diff."""
    rows = [f"{row}\n" for row in diff.replace(f"\n{NO_NEWLINE}", "\0\n").split("\n")[:-1]]
    starts = [number for number, row in enumerate(rows) if HEAD.match(row)]
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        head = HEAD.match(rows[start])
        body = [row.removesuffix("\0\n") for row in rows[start + 1 : end]]
        old = tuple(row[1:] for row in body if row[:1] in " -")
        new = tuple(row[1:] for row in body if row[:1] in " +")
        yield Hunk(int(head[1]) - 1 if head is not None else 0, old, new)
