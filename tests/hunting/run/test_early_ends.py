"""A hunt that is interrupted as it starts, may open few files, or loses its temporary folder, ends with a line or a report."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TRAIN = """
kept = []
def step(): kept.append(bytearray(200_000))
for _ in range(100): step()
"""

#: Removes all that is in the temporary folder in the middle of the steps.
EMPTIES = """
import shutil, tempfile
for name in __import__("os").listdir(tempfile.gettempdir()): shutil.rmtree(f"{tempfile.gettempdir()}/{name}", ignore_errors=True)
for _ in range(100): step()
print("end")
"""

#: Runs a command with a temporary folder of its own that has 4 kB free.
NARROW = """
mount -t tmpfs -o size=64k none "$0" && head -c 61440 /dev/zero > "$0/full" 2>/dev/null; TMPDIR="$0" exec "$@"
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TRAIN, encoding="utf-8")
    return path


def hunt(script: Path, *before: str, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [*before, sys.executable, "-m", "gradlife", "hunt", "--step-on", "__main__:step", str(script)]
    return subprocess.run(
        words,
        cwd=script.parent,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


@pytest.mark.whole
@pytest.mark.parametrize("command", [("hunt",), ("peak",), ("snapshot", "-o", os.devnull), ("hunt", "--follow")])
def test_an_interrupt_at_any_moment_of_the_start_is_no_traceback(script: Path, command: tuple[str, ...]) -> None:
    script.write_text(
        "import time\ntry: time.sleep(900)\nexcept KeyboardInterrupt: raise SystemExit(130)\n", encoding="utf-8"
    )
    for number in range(12):
        process = subprocess.Popen(
            [sys.executable, "-m", "gradlife", *command, str(script)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        time.sleep(0.15 + number * 0.05)  # Python itself starts in the first of them
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=900)
        assert "Traceback" not in errors, errors


@pytest.mark.parametrize("most", [8, 10, 12, 14, 16])
def test_too_few_descriptors_are_a_line_or_a_report(script: Path, most: int) -> None:
    done = hunt(script, "sh", "-c", f'ulimit -n {most}; exec "$0" "$@"')
    assert "Traceback" not in done.stderr
    if done.returncode == 2:
        assert done.stderr.startswith("gradlife: error: ")
        assert done.stderr.rstrip().endswith("(try: ulimit -n 256)")
        assert done.stderr.count("\n") == 1


def test_a_program_that_empties_the_temporary_folder_gets_its_report(script: Path) -> None:
    script.write_text(TRAIN + EMPTIES, encoding="utf-8")
    place = script.parent / "temporary"
    place.mkdir()
    done = hunt(script, TMPDIR=str(place))
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "end")
    assert "kept: each step appends to a list" in done.stderr
    assert os.listdir(place) == []


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs to mount a file system")
def test_a_temporary_folder_that_is_nearly_full_is_not_used(script: Path) -> None:
    place = script.parent / "narrow"
    place.mkdir()
    done = hunt(script, "unshare", "-m", "sh", "-c", NARROW, str(place))
    assert (done.returncode, done.stdout) == (1, "")
    assert "kept: each step appends to a list" in done.stderr
