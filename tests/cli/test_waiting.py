"""What is shown while a program runs: a live line on a terminal, one line at the start elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradlife.cli.live_line import fitting
from gradlife.cli.program_view import duration
from terminals import DRAWN, ERASED, RESERVED, in_terminal, live_lines, without_live_line

pytestmark = pytest.mark.whole

PROGRAM = """\
import sys
import time

kept = []


def step():
    kept.append(bytearray(10000))
    time.sleep(0.02)


for number in range(120):
    step()
    print("x" * number)
    print("a bar", end="\\r", file=sys.stderr)
print("done", end="")
"""
PRINTED = "".join(f"{'x' * number}\n" for number in range(120)) + "done"
HUNT = ("hunt", "--step-on", "__main__:step")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def hunted(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradlife", *HUNT, *options, "train.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)


def test_a_terminal_has_a_line_with_the_phase_the_steps_and_the_round(folder: Path) -> None:
    status, written = in_terminal(folder, *HUNT, "train.py", columns=120)
    lines = live_lines(written)
    assert status == 1
    assert lines[0].startswith("gradlife: hunting train.py, waiting for a step, 0 s")
    assert any(
        re.match(r"gradlife: hunting train\.py, step \d+ \(a step is call of step\), round [1-9]", line)
        for line in lines
    ), lines
    assert all(len(line) < 120 for line in lines)


def test_the_line_is_erased_before_the_verdict_and_nothing_of_the_program_is_lost(folder: Path) -> None:
    _, written = in_terminal(folder, *HUNT, "train.py")
    rest = without_live_line(written)
    assert "\x1b" not in rest
    assert rest.count("LEAK  train.py grows by ") == 1
    printed = [line for line in rest.replace("a bar\r", "").split("\n") if set(line) == {"x"}]
    assert printed == PRINTED.splitlines()[1:-1]
    at_verdict = next(place for place in re.finditer("LEAK", written)).start()
    drawn, erased = list(DRAWN.finditer(written)), list(ERASED.finditer(written))
    assert drawn[-1].end() <= erased[-1].start()
    assert erased[-1].end() <= at_verdict


def test_the_line_has_a_row_of_its_own_in_a_terminal_of_any_size(folder: Path) -> None:
    _, written = in_terminal(folder, *HUNT, "train.py", rows=10, columns=60)
    assert set(RESERVED.findall(written)) == {"9"}
    assert {row for row, _ in DRAWN.findall(written)} == {"10"}
    assert all(len(line) < 60 for line in live_lines(written))


def test_steps_that_were_asked_for_have_a_time_left(folder: Path) -> None:
    _, written = in_terminal(folder, *HUNT, "--steps", "100", "train.py", columns=120)
    assert any(re.search(r"step \d+ of 100 \(.*\), round \d, about \d+ s left", line) for line in live_lines(written))


@pytest.mark.parametrize("options", [{"term": "dumb"}, {"rows": 4}], ids=["dumb", "low"])
def test_a_terminal_that_has_no_room_for_the_line_gets_none(folder: Path, options: dict[str, object]) -> None:
    _, written = in_terminal(folder, *HUNT, "train.py", **options)  # type: ignore[arg-type]
    assert live_lines(written) == []
    assert "LEAK  train.py" in without_live_line(written)


def test_nothing_of_the_progress_goes_to_standard_output(folder: Path) -> None:
    in_terminal(folder, *HUNT, "train.py", output=folder / "out")
    assert (folder / "out").read_text(encoding="utf-8") == PRINTED


def test_a_pipe_gets_one_line_at_the_start(folder: Path) -> None:
    done = hunted(folder)
    first, *rest = done.stderr.replace("a bar\n", "").splitlines()
    assert done.stdout == PRINTED
    assert first == (
        "gradlife: hunting train.py; the program runs as usual, and the report comes at its end or as soon as a leak is certain"
    )
    assert rest[0].startswith("LEAK  train.py grows by ")


def test_a_program_that_does_not_start_has_only_the_error(folder: Path) -> None:
    (folder / "train.py").write_text("def step(:\n", encoding="utf-8")
    assert hunted(folder).stderr.splitlines()[0].startswith("gradlife: error: ")


def test_a_proof_shows_its_second_run(folder: Path) -> None:
    _, written = in_terminal(folder, *HUNT, "--prove", "train.py", columns=120)
    assert any(line.startswith("gradlife: running it again ") for line in live_lines(written))


def test_a_prompt_has_the_terminal_alone(folder: Path) -> None:
    (folder / "train.py").write_text("print('done')\n", encoding="utf-8")
    assert live_lines(in_terminal(folder, "hunt", "-i", "train.py")[1]) == []


def test_a_part_that_does_not_fit_is_left_out_whole() -> None:
    assert fitting(["gradlife: hunting train.py", "step 1,000", "round 2"], 40) == (
        "gradlife: hunting train.py, step 1,000"
    )
    assert fitting(["gradlife: hunting a_very_long_name.py"], 20) == "gradlife: hunting a_"


def test_a_time_is_in_seconds_or_minutes() -> None:
    assert [duration(seconds) for seconds in (0.4, 59.4, 60, 200)] == ["0 s", "59 s", "1 min 0 s", "3 min 20 s"]
