"""The commands of a page, each with the parts of lines that the page shows below it, and the files that they need."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"(?:<!-- file: (\S+) -->\n)?^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """A command, and parts of lines that come when it is run, in this order."""

    command: str
    parts: tuple[str, ...]


def write_files(page: str, folder: Path) -> None:
    """The files of the page."""
    for name, _, text in FENCE.findall(page):
        if name:
            (folder / name).write_text(text, encoding="utf-8")


def commands_of(page: str) -> Iterator[Shown]:
    """Every command of the page. What stands below a block of several is the last one's."""
    for (_, language, text), (_, following, output) in itertools.pairwise([*FENCE.findall(page), ("", "", "")]):
        lines = [line.removeprefix("$ ").partition("  #")[0].strip() for line in text.splitlines() if line[:2] == "$ "]
        if language not in {"console", "sh"}:
            continue
        for number, line in enumerate(lines, 1):
            yield Shown(line, parts_of(output) if following == "text" and number == len(lines) else ())


def parts_of(output: str) -> tuple[str, ...]:
    """Return the text between `...`, with runs of spaces as one."""
    return tuple(one_spaced(part) for line in output.splitlines() for part in line.split("...") if part.strip())


def one_spaced(text: str) -> str:
    return " ".join(text.split())


def run(shown: Shown, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command, and check that what the page shows comes."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    off = "-p no:memray -p no:randomly -p no:asyncio"
    extra = {"PATH": path, "COLUMNS": "80", "GITHUB_ACTIONS": "", "PYTEST_ADDOPTS": off}
    environment = {**os.environ, **extra}
    done = subprocess.run(
        shown.command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=900
    )
    text, at = one_spaced(done.stderr + done.stdout), 0
    if "--verify" in shown.command:  # what is compared goes to the one, the hunt to the other
        text = one_spaced(done.stdout + done.stderr + done.stdout)
    for part in shown.parts:
        found = text.find(part, at)
        assert found >= 0, f"{shown.command}: {part!r} does not come\n{done.stdout}\n{done.stderr}"
        at = found + len(part)
    return done
