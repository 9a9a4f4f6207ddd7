"""docs/recordings.md: its commands run from what comes with gradlife, and print what it shows of them."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradlife.backends.recorded import ATLAS
from gradlife.runner.discover import discover
from gradlife.runner.history import KnownChange, known_changes
from sources import ROOT

PAGE = (ROOT / "docs" / "recordings.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
SHOWN = [
    (command.strip().removeprefix("$ "), [line.strip() for line in output.splitlines()])
    for (language, command), (_, output) in itertools.pairwise(BLOCKS)
    if language == "sh"
]


def test_the_page_shows_commands() -> None:
    assert len(SHOWN) == 5


@pytest.mark.parametrize(("command", "lines"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_prints_what_the_page_shows(command: str, lines: list[str], tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "120", "GRADLIFE_HOME": str(tmp_path)}
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900
    )
    text = re.sub(r"[ \n]+", " ", done.stdout + done.stderr)
    at = 0
    for line in lines:
        found = text.find(re.sub(" +", " ", line), at)
        assert found >= 0, f"{line!r} does not come\n{done.stdout}{done.stderr}"
        at = found


def test_each_release_of_the_atlas_is_named() -> None:
    assert [name for name in ATLAS if name.partition("-")[2] not in PAGE] == []


@pytest.mark.parametrize("change", known_changes(), ids=lambda change: change.pull)
def test_each_known_change_is_a_row_with_a_story_that_shows_it(change: KnownChange) -> None:
    first = ("" if change.framework == "torch" else "OneFlow ") + change.first
    (story,) = re.findall(
        rf"^\| {first} \| {re.escape(change.what)} \| {change.pull} \| `(\w+)` \|$", PAGE, re.MULTILINE
    )
    (found,) = discover([story])
    assert change.is_about(found.info)
