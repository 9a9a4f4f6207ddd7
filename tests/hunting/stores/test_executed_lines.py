"""Which lines ran: those of the program, in functions that are called and in those that run already."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from gradlife.hunting.session.method import Hunt
from gradlife.hunting.steps.schedule import schedule_for
from gradlife.hunting.stores.executed_lines import LineWatch

PROGRAM = """\
import json
from gradlife.hunting.stores.executed_lines import LineWatch

def used(x):
    if x:
        return 1
    return 2

def rows():
    yield used(0)
    yield 3

def main():
    watch = LineWatch()
    waiting = rows()
    watch.start()
    used(1)
    next(waiting)
    json.dumps([1])
    watch.stop()
    next(waiting)
    return watch.lines

print(json.dumps(sorted(main())))
"""


def lines_of(folder: Path, text: str) -> list[list[object]]:
    (folder / "program.py").write_text(text)
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, check=True)
    found: list[list[object]] = json.loads(done.stdout)
    return found


def test_the_lines_that_ran_between_start_and_stop(tmp_path: Path) -> None:
    assert lines_of(tmp_path, PROGRAM) == [["program.py", line] for line in (5, 6, 7, 10, 17, 18, 19, 20)]


def test_nothing_is_watched_beside_another_tool(tmp_path: Path) -> None:
    traced = PROGRAM.replace(
        "    watch.start()", "    __import__('sys').settrace(lambda *given: None)\n    watch.start()"
    )
    assert lines_of(tmp_path, traced) == []


def test_a_step_that_does_not_end_is_traced_for_a_bounded_number_of_lines(tmp_path: Path) -> None:
    limited = PROGRAM.replace(
        "def main():", "import gradlife.hunting.stores.executed_lines as module\nmodule.MAX_LINES = 2\n\ndef main():"
    ).replace("    watch.stop()", "    assert __import__('sys').gettrace() is None\n    watch.stop()")
    assert lines_of(tmp_path, limited) == []


def test_only_a_few_steps_of_a_long_warm_up_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """All were: the first tenth of a hunt with `--steps 10000` was several times as slow."""
    calls: list[str] = []
    monkeypatch.setattr(LineWatch, "start", lambda watch: calls.append("start"))
    monkeypatch.setattr(LineWatch, "stop", lambda watch: calls.append("stop"))
    plan = Hunt(schedule_for(1000, is_endless=False)).plan()
    assert [(steps, *calls) for steps in islice(plan, 3)] == [(1,), (6, "start"), (93, "start", "stop")]
    plan.close()
