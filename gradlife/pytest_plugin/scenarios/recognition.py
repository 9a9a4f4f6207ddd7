"""Recognize files of lifetime stories among the Python files that pytest collects."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.runner.scenario_files import imports_scenario


def is_of_stories(path: Path, config: pytest.Config) -> bool:
    """Whether it imports what stories import and is not one of pytest's own test files."""
    if path.suffix != ".py" or path.name.startswith("_"):
        return False
    if path.name == "conftest.py" or any(path.match(pattern) for pattern in config.getini("python_files")):
        return False
    return imports_scenario(path)
