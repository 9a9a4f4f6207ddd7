"""The lines of a program's source, split as Python's parser does: a form feed ends none, though `splitlines` says so."""

from __future__ import annotations

import io
from typing import TypeAlias

#: The annotation of a field whose text has several lines; each other text of a report is one line.
Lines: TypeAlias = str


def rows_of(text: str) -> list[str]:
    """Split a text into lines with their ends, whatever these are."""
    return list(io.StringIO(text, newline=""))


def plain_rows(text: str) -> list[str]:
    """Split a text into lines without their ends."""
    return [row.rstrip("\r\n") for row in rows_of(text)]
