"""What a command prints on standard error besides its report: that a program runs, and the names of the files it wrote."""

from __future__ import annotations

import re

WROTE = re.compile(r"^gradlife: wrote .+, [\d.]+ [kMG]?B\n", re.MULTILINE)
STARTED = re.compile(r"^gradlife: (hunting|recording) .+; the program runs as usual, .+\n", re.MULTILINE)


def besides_files(errors: str) -> str:
    """Return what was printed besides the names of files."""
    return WROTE.sub("", errors)


def report_in(errors: str) -> str:
    """Return what was printed besides the line at the start and the names of files."""
    return STARTED.sub("", besides_files(errors))
