"""Recognize scenario files by their imports. The pytest plugin asks this of every file, so it must be cheap."""

from __future__ import annotations

import re
from pathlib import Path

#: The import by which a scenario file is recognized, at the beginning of a line. A byte order mark may stand before it.
IMPORT = re.compile(
    rb"^(?:\xef\xbb\xbf)?(?:from +gradlife(?:\.scenario\b| +import +scenario\b)"
    rb"|import +(?:[\w.]+ *, *)*gradlife\.scenario\b)",
    re.MULTILINE,
)
MARK = b"scenario"

#: Leading bytes of a file that contain its imports.
HEAD = 64 * 1024


def imports_scenario(path: Path) -> bool:
    """Whether it imports `gradlife.scenario`. A file that cannot be read does not."""
    try:
        with path.open("rb", buffering=0) as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return MARK in head and IMPORT.search(head) is not None
