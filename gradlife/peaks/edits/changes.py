"""Changed lines of a source, and their diff."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable

from gradlife.model.peak.report import LineChange


def changed(text: str, changes: Iterable[LineChange]) -> str:
    """Return the text with all changes applied: replacements of a line before insertions above it, equal ones once."""
    lines = text.splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    for change in sorted(dict.fromkeys(changes), key=lambda one: (one.first, one.last), reverse=True):
        if lines and change.first > len(lines) and not lines[-1].endswith(end):
            lines[-1] += end
        lines[change.first - 1 : change.last] = [line + end for line in change.lines]
    return "".join(lines)


def diff(file: str, before: str, after: str) -> str:
    """Return the change from one text to another as a unified diff, with the file relative to the working folder."""
    below = os.path.relpath(file)
    name = (file if below.startswith(os.pardir) else below).replace(os.sep, "/").lstrip("/")
    rows = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", lineterm="", n=2)
    return "\n".join(rows)
