"""docs/hunting.md: its files are written, its commands run, and what it shows of them comes, in this order."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sources import ROOT

PAGE = (ROOT / "docs" / "hunting.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?:<!-- (file: \S+|run) -->\n)?```(\w+)\n(.*?)```", PAGE, re.DOTALL)

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page."""
    made: Path = tmp_path_factory.mktemp("page")
    for note, language, text in BLOCKS:
        if language == "python" and note.startswith("file: "):
            (made / note.removeprefix("file: ")).write_text(text, encoding="utf-8")
    return made


def shown() -> Iterator[tuple[str, list[str]]]:
    """Commands, each with the parts of lines that the page shows below it; `...` stands for what varies."""
    for (_, language, text), (_, following, output) in itertools.pairwise(BLOCKS):
        if language == "sh" and following == "text":
            parts = [part.strip() for line in output.splitlines() for part in line.split("...") if part.strip()]
            yield "; ".join(line.removeprefix("$ ") for line in text.splitlines()), parts


@pytest.mark.whole
@pytest.mark.long
def test_commands_come_with_what_they_print(folder: Path) -> None:
    """In the page's order: a later command reads what an earlier one wrote."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    commands = list(shown())
    assert len(commands) == 7
    for command, parts in commands:
        environment = {**os.environ, "PATH": path, "COLUMNS": "120"}
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=900
        )
        at, text = 0, done.stdout + done.stderr if "-i" in command.split() else done.stderr + done.stdout
        if "-i" in command.split() or "--verify" in command:
            at, text = -1, done.stdout + done.stderr
        for part in parts:
            found = text.find(part, max(at, 0))
            assert found >= 0, f"{command}: {part!r} does not come\n{text}"
            at = found


@pytest.mark.parametrize("text", [text for note, _, text in BLOCKS if note == "run"])
def test_programs_of_the_page_hold_what_they_assert(text: str, folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_verb_of_the_prompt_is_reported() -> None:
    from gradlife.interactive.session import VERBS

    assert [verb for verb in VERBS if verb not in {"help", "continue"} and f"| `{verb}" not in PAGE] == []
