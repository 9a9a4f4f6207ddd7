"""The patches of a hunt's findings: as one unified diff, and as line edits for formats that have fixes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradlife.model.hunt import HuntReport, Patch
from gradlife.model.source_text import rows_of
from gradlife.visible_text import visible, visible_lines

HUNK = re.compile(r"@@ -(?P<line>[0-9]+)")


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines of a file, and the text that replaces them."""

    line: int  # the first replaced line
    count: int  # the number of replaced lines; 0: insert before the line
    text: str  # whole lines, or empty


def hunt_patch(report: HuntReport) -> str:
    """Return the patches as one diff for `git apply`, each once; empty if no finding has one.

    A patch whose lines cannot be shown as they are is left out: it would fit no file. `--fix --write` makes the change.
    """
    return "".join(dict.fromkeys(text_of(one.patch) for one in report.findings if one.patch is not None))


def text_of(patch: Patch) -> str:
    """Return the diff, or the reason why it is left out in a line that `git apply` skips."""
    if patch.diff == visible_lines(patch.diff):
        return patch.diff
    return f"# left out: lines of {visible(patch.file)} have control characters; gradlife hunt --fix --write\n"


def edits_of(patch: Patch) -> Iterator[Edit]:
    """Yield the edits of a patch, with line numbers of the unchanged file."""
    line, removed, added = 0, 0, ""
    for row in rows_of(patch.diff)[2:]:
        if row[0] in "+-":
            removed += row[0] == "-"
            added += row[1:] if row[0] == "+" else ""
            continue
        if removed or added:
            yield Edit(line, removed, added)
            line, removed, added = line + removed, 0, ""
        hunk = HUNK.match(row)
        line = int(hunk["line"]) if hunk else line + (row[0] == " ")
    if removed or added:
        yield Edit(line, removed, added)
