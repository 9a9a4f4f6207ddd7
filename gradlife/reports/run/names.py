"""Short names of systems, for column headings."""

from __future__ import annotations

import os
import re

#: A heading is a few short lines, one below the other.
Heading = tuple[str, ...]


def heading(name: str, version: str = "") -> Heading:
    """Return the lines of a column's heading: `mini:torch-1.10` is mini, torch, 1.10; torch 2.13.0 is torch, 2.13.0."""
    name, at, interpreter = name.partition("@")
    source, colon, rest = name.partition(":")
    if not colon:
        source, rest = "", name
    profile, *changes = rest.split("+")
    lines = [source] if source else []
    lines += re.split(r"-(?=\d)", profile, maxsplit=1)
    if not source and version and len(lines) == 1:
        lines.append(version.partition("+")[0])
    if at:
        lines.append("@" + os.path.basename(interpreter))
    for change in changes:
        lines += change_lines(change)
    return tuple(lines)


def change_lines(changes: str) -> list[str]:
    """Return the lines of a mutant's changes: `saved_slot=owning` is +saved_slot, =owning."""
    lines = []
    for change in changes.split(","):
        axis, equals, value = change.partition("=")
        lines += ["+" + axis, equals + value] if equals else ["+" + axis]
    return lines


def heading_width(lines: Heading) -> int:
    """Return the width of the widest line."""
    return max(map(len, lines), default=0)


def numbered(count: int) -> list[Heading]:
    """Return numbers as headings for systems with long names: their numbers in the list of systems."""
    return [(f"[{number}]",) for number in range(1, count + 1)]
