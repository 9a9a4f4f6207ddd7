"""Recognize files of lifetime stories. Every collected Python file is checked, so it must be cheap."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

#: The import by which a scenario file is recognized, here and by the runner. Text in strings does not count.
IMPORT = re.compile(rb"^(?:from|import) +gradlife(?:\.scenario\b| +import +scenario\b)", re.MULTILINE)
MARK = b"scenario"

#: Leading bytes of a file that contain its imports.
HEAD = 64 * 1024


def is_of_stories(path: Path, config: pytest.Config) -> bool:
    """Whether it imports what stories import and is not one of pytest's own test files."""
    if path.suffix != ".py" or path.name.startswith("_"):
        return False
    if path.name == "conftest.py" or any(path.match(pattern) for pattern in config.getini("python_files")):
        return False
    return imports_scenario(path)


def imports_scenario(path: Path) -> bool:
    """Whether it imports `gradlife.scenario`."""
    try:
        with path.open("rb", buffering=0) as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return MARK in head and IMPORT.search(head) is not None
