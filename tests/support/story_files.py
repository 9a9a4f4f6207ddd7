"""Scenario files written on the spot."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

WriteStory = Callable[..., str]

HEAD = "import os, sys, time, signal\nfrom gradlife.scenario import Differs, Expect, scenario\n\n"


@pytest.fixture
def write_story(tmp_path: Path) -> WriteStory:
    """Write a scenario file and get its path: `write_story(text)`, `write_story(text, "suite/file.py")`."""

    def write(text: str, name: str = "suite/story.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
        return str(path)

    return write
