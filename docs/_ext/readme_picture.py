"""The picture in README: the report of a real hunt in `docs/examples/train.py`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gradlife.reports.svg import svg_of

DOCS = Path(__file__).resolve().parents[1]
EXAMPLE = DOCS / "examples" / "train.py"
PICTURE = DOCS / "pictures" / "hunt.svg"
WIDTH = 84

#: The drawn part: from the verdict to where to read on.
FIRST, LAST = "LEAK", "Details: "


def hunted(colour: bool = True) -> str:
    """Return what `gradlife hunt train.py` prints, coloured as on a terminal."""
    command = [sys.executable, "-m", "gradlife", "hunt", EXAMPLE.name]
    environment = {**os.environ, "COLUMNS": str(WIDTH)}
    environment.pop("NO_COLOR", None)
    if colour:
        environment["FORCE_COLOR"] = "1"
        environment["TERM"] = "xterm-256color"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / EXAMPLE.name).write_bytes(EXAMPLE.read_bytes())
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return done.stderr


def first_screen(report: Text) -> Text:
    """Return the lines of the first screen."""
    lines = list(report.split("\n"))
    first = next(number for number, line in enumerate(lines) if line.plain.startswith(FIRST))
    last = next(number for number, line in enumerate(lines) if number > first and line.plain.startswith(LAST))
    return Text("\n").join(lines[first : last + 1])


def draw_readme() -> str:
    """Draw the picture again."""
    shown = first_screen(Text.from_ansi(hunted()))

    def show(console: Console) -> None:
        console.print(shown)

    PICTURE.write_text(svg_of(show, "$ gradlife hunt train.py", WIDTH), encoding="utf-8")
    return str(PICTURE)
