"""The page on the command line: its commands run, and print what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradlife.cli.program_view import steps_words
from gradlife.program.progress import StepProgress
from page_commands import commands_of, run, write_files
from sources import ROOT

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")

#: Exit statuses of the commands: the program leaks.
LEAK = 1


@pytest.mark.whole
def test_each_command_runs_and_prints_what_is_shown(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    shown = [one for one in commands_of(PAGE) if one.command.startswith("gradlife")]
    assert len(shown) == 6
    for one in shown:
        done = run(one, tmp_path)
        assert done.returncode == (0 if " codes" in one.command else LEAK), f"{one.command}\n{done.stderr}"


def test_the_line_that_is_shown_is_of_a_hunt() -> None:
    [line] = re.findall(r"^    gradlife: hunting train\.py, (.*), 13 s$", PAGE, re.MULTILINE)
    assert line == ", ".join(steps_words(StepProgress("SGD.step", 79, 5), None))
