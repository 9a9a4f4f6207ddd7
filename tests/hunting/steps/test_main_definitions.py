"""A call when the main module defines a name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

START = """\
import runpy, sys
from gradlife.hunting.steps.main_definitions import when_defined

def heard(module):
    print("heard", module.__name__, sorted(name for name in vars(module) if not name.startswith("_")), sys.gettrace())

when_defined("step", heard)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def heard(folder: Path, source: str) -> list[str]:
    """What a main module prints, and what is heard of it."""
    path = folder / "main.py"
    path.write_text(source)
    command = [sys.executable, "-c", START, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_it_is_heard_before_the_next_statement(tmp_path: Path) -> None:
    source = "first = 1\ndef step(): pass\nlast = 2\nprint('ran')\n"
    assert heard(tmp_path, source) == ["heard __main__ ['first', 'step'] None", "ran"]


def test_a_main_module_that_never_defines_it_runs_as_it_would(tmp_path: Path) -> None:
    assert heard(tmp_path, "def steps():\n    step = 1\n    return step\nprint(steps())\n") == ["1"]
