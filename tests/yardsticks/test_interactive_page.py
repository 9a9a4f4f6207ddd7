"""docs/interactive.md and docs/guides/snapshots.md: their files are written, their commands and cells run, and what they
show of them comes, in this order.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.binding import Binding

from gradlife.interactive.tui.app import Explorer
from notebooks import RUNNER
from sources import ROOT

PAGE = (ROOT / "docs" / "interactive.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guides" / "snapshots.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:<!-- (file: \S+|cells) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def shown(kind: str, page: str = PAGE) -> Iterator[tuple[str, list[str]]]:
    """Commands, or cells, each with the lines that the page shows below it."""
    for (note, language, text), (_, following, output) in itertools.pairwise(BLOCK.findall(page)):
        if following == "text" and (note == kind or language == kind):
            yield text, [line.strip() for line in output.splitlines()]


def in_order(lines: list[str], text: str) -> bool:
    """Whether these words stand in a text in this order."""
    at = 0
    for line in lines:
        at = text.find(line, at)
        if at < 0:
            return False
    return True


@pytest.mark.whole
@pytest.mark.parametrize(
    ("page", "names", "count"), [(PAGE, ["shop.py", "growing.py"], 5), (GUIDE, ["train.py"], 4)], ids=["page", "guide"]
)
def test_commands_come_with_what_they_print(page: str, names: list[str], count: int, tmp_path: Path) -> None:
    files = {note.removeprefix("file: "): text for note, _, text in BLOCK.findall(page) if note.startswith("file: ")}
    assert list(files) == names
    for name, program in files.items():
        (tmp_path / name).write_text(program, encoding="utf-8")
    commands = list(shown("sh", page))
    assert len(commands) == count
    for command, lines in commands:
        environment = {**os.environ, "PATH": PATH, "COLUMNS": "120"}
        done = subprocess.run(
            re.sub(r"^\$ ", "", command, flags=re.MULTILINE),
            shell=True,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert in_order(lines, done.stdout + done.stderr), f"{command}\n{done.stdout}{done.stderr}"


def test_cells_come_with_what_they_say(tmp_path: Path) -> None:
    blocks = list(shown("cells"))
    assert len(blocks) == 2
    cells = [text.split("\n") if not text.startswith("%%") else [text] for text, _ in blocks]
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path), "COLUMNS": "120"}
    command = [sys.executable, "-c", RUNNER, json.dumps([cell for block in cells for cell in block])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, cwd=tmp_path)
    said = "".join(json.loads(line) for line in done.stdout.splitlines())
    assert in_order([line for _, lines in blocks for line in lines], said), said + done.stderr


@pytest.mark.parametrize("key", ["/", "n", "r", "e", "g", "d", "?", "q", "1", "2", "3", "4"])
def test_every_key_of_the_page_is_bound(key: str) -> None:
    names = {"/": "slash", "?": "question_mark"}
    bound = {one.key for one in Explorer.BINDINGS if isinstance(one, Binding)}
    assert f"`{key}`" in PAGE
    assert names.get(key, key) in bound
