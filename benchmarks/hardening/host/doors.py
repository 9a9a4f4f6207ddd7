"""The ways in which a program runs: bare, and under each command of gradlife that runs or reaches a program."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: Seconds before a program counts as hanging.
LONGEST = 300.0

#: The name of a program's file.
SCRIPT = "train.py"

#: What is put before a program that a client attaches to: it waits once, so that the client comes while it runs.
WAITS = """
import os as _os, time as _time
open("ready", "w").close()
while not _os.path.exists("go"): _time.sleep(0.01)
del _os, _time
"""

#: A file of tests that runs the program.
TESTS = """
import runpy
def test_program():
    runpy.run_path("train.py", run_name="__main__")
"""

#: What pytest prints that has times or counts of its own in it, and its mark of the test: the exit status says whether it
#: failed, perhaps by what gradlife found.
PYTEST_LINES = re.compile(
    r"(?m)^(=+.*|plugins:.*|platform.*|rootdir.*|configfile.*|cachedir.*|collected.*|[.FE]|\d+ (passed|failed|error).*)$"
)


@dataclass(frozen=True)
class Ended:
    """What a run printed, and how it ended."""

    status: int
    output: str
    errors: str


#: Runs the program in a folder.
Door = Callable[[Path], Ended]


def run(folder: Path, *words: str, **environment: str) -> Ended:
    """Run a command there. A hanging one ends with status -1."""
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=LONGEST)
        return Ended(process.returncode, output, errors)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        return Ended(-1, output, errors)


def bare(folder: Path) -> Ended:
    return run(folder, SCRIPT)


def command(*words: str) -> Door:
    """Return the door of a command that gets the program last. Its report goes to a file beside the program's folder."""
    return lambda folder: run(folder, "-m", "gradlife", *words, SCRIPT)


def waiting(folder: Path, act: Callable[[int], object]) -> Ended:
    """Run a program that waits once; act on its process meanwhile."""
    script = folder / SCRIPT
    script.write_text(WAITS + script.read_text(encoding="utf-8"), encoding="utf-8")
    with served(folder) as process:
        until = time.monotonic() + LONGEST
        while not (folder / "ready").exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        act(process.pid)
        (folder / "go").touch()
        output, errors = process.communicate(timeout=LONGEST)
    for name in ("ready", "go"):
        (folder / name).unlink(missing_ok=True)
    return Ended(process.returncode, output, errors)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, SCRIPT],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def untouched(folder: Path) -> Ended:
    return waiting(folder, lambda pid: None)


def attached(folder: Path) -> Ended:
    """A client takes a snapshot of the running program, with a debugger."""
    words = (sys.executable, "-m", "gradlife", "attach", "--snapshot", os.devnull, "--inject", own_folder())
    found: list[int] = []

    def act(pid: int) -> None:
        place = folder.parent / f"{folder.name}.glheap"
        words_now = [*words[:5], str(place), *words[6:], str(pid)]
        found.append(subprocess.run(words_now, capture_output=True, check=False, timeout=LONGEST).returncode)

    ended = waiting(folder, act)
    return ended if found == [0] else Ended(ended.status, ended.output, f"{ended.errors}attach ended with {found}\n")


def own_folder() -> str:
    import gradlife

    return str(Path(gradlife.__file__).parents[1])


def tested(*options: str) -> Door:
    def door(folder: Path) -> Ended:
        (folder / "test_program.py").write_text(TESTS, encoding="utf-8")
        # The plugin has a thread that opens a socket at some moment.
        quiet = ("-q", "-s", "-p", "no:cacheprovider", "-p", "no:rerunfailures")
        ended = run(folder, "-m", "pytest", *quiet, *options, "test_program.py")
        (folder / "test_program.py").unlink()
        return Ended(ended.status, PYTEST_LINES.sub("", ended.output), ended.errors)

    return door


#: Each door with the one that it is compared with.
DOORS: dict[str, tuple[Door, Door]] = {
    "hunt": (command("hunt", "--json", "../report.json"), bare),
    "lines": (command("hunt", "--lines", "--json", "../report.json"), bare),
    "follow": (command("hunt", "--follow", "--every", "1s", "--json", "../report.json"), bare),
    "peak": (command("peak", "--json", "../report.json"), bare),
    "snapshot": (command("snapshot", "-o", "../heap.glheap"), bare),
    "attach": (attached, untouched),
    "pytest": (tested("--leaks"), tested()),
}
