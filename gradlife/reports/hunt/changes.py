"""The rows of a patch, as every report of a hunt shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradlife.model.hunt import Finding
from gradlife.model.source_text import plain_rows
from gradlife.reports.document.blocks import Tone

#: The sign of a row that names the line of the change below it.
PLACE = "at"

#: Tones of the rows by their signs.
SIGNS: dict[str, Tone] = {"-": "bad", "+": "good", " ": "", PLACE: "quiet"}

#: Lines of a unified diff that name its files.
HEADS = ("--- ", "+++ ")

#: The head of a hunk, with its first line.
HUNK = re.compile(r"@@ -(\d+)")


def changed_rows(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield sign and text of each changed line. A line that is only added comes with the statement beside it, and a
    change elsewhere than at the line that stores with its place.
    """
    patch, stored = finding.patch, finding.stored_at
    if patch is None:
        return
    rows = [*numbered_rows(patch.diff)] or [
        *((0, f"-{line}") for line in patch.removed),
        *((0, f"+{line}") for line in patch.added),
    ]
    source = stored.source if stored is not None and not patch.removed else ""
    file = patch.diff.partition("--- a/")[2].partition("\n")[0]
    last = stored.line if stored is not None else rows[0][0] if rows else 0
    for number, (line, row) in enumerate(rows):
        beside = [one for _, one in (*rows[max(0, number - 1) : number], *rows[number + 1 : number + 2])]
        is_beside = source and row.strip() == source and any(one.startswith("+") for one in beside)
        if row[0] != " " or is_beside:
            if line and not last <= line <= last + 1:
                yield PLACE, f"{file}:{line}"
            last = line
            yield row[0], row[1:].strip()


def numbered_rows(diff: str) -> Iterator[tuple[int, str]]:
    """Yield the rows of a unified diff with their line in the file before the change; of an added row, the next line."""
    line = 0
    for row in plain_rows(diff):
        if head := HUNK.match(row):
            line = int(head[1])
        elif row[:1] in ("+", "-", " ") and not row.startswith(HEADS):
            yield line, row
            line += row[0] != "+"
