"""The lines with which a command names the files that it wrote."""

from __future__ import annotations

import re

WROTE = re.compile(r"^gradlife: wrote .+, [\d.]+ [kMG]?B\n", re.MULTILINE)


def besides_files(errors: str) -> str:
    """What a command printed on standard error besides the names of its files."""
    return WROTE.sub("", errors)
