"""What a process has after it was attached to many times: its objects, threads, descriptors and memory of before."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from attachable import needs_debugger
from gradlife.attach.client import Session, attach, connect
from gradlife.hunting.run.running import Terms

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gradlife attaches on Linux only")

#: Says what it has whenever it reads a line; a thread of gradlife's that ends just now is waited for.
COUNTS = """\
import gc, os, sys, threading, time
if len(sys.argv) > 1:
    import gradlife
    gradlife.serve(sys.argv[1])
own = threading.active_count()

def step():
    pass

print("ready", flush=True)
for line in sys.stdin:
    deadline = time.monotonic() + 60
    while threading.active_count() > own and time.monotonic() < deadline:
        time.sleep(0.01)
    gc.collect()
    pages = int(open("/proc/self/statm").read().split()[1])
    print(len(gc.get_objects()), threading.active_count(), len(os.listdir("/proc/self/fd")), pages, flush=True)
"""

#: Megabytes that malloc may keep more or less from one moment to the next.
SLACK = 2


@dataclass(frozen=True)
class Counts:
    """What a process has."""

    objects: int
    threads: int
    descriptors: int
    megabytes: float


@contextmanager
def counting(folder: Path, *words: str) -> Iterator[tuple[int, Callable[[], Counts]]]:
    """The number of the process, and what asks it."""
    (folder / "program.py").write_text(COUNTS)
    command = [sys.executable, "program.py", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        source, answers = program.stdin, program.stdout

        def ask() -> Counts:
            source.write(b"?\n")
            source.flush()
            objects, threads, descriptors, pages = map(int, answers.readline().split())
            return Counts(objects, threads, descriptors, pages * os.sysconf("SC_PAGE_SIZE") / 1e6)

        try:
            assert answers.readline() == b"ready\n"
            yield program.pid, ask
        finally:
            program.kill()


def is_as_before(rounds: int, visit: Callable[[], None], ask: Callable[[], Counts]) -> bool:
    """Is the process after many visits as after the first ones, which import modules?"""
    untouched = ask()
    for _ in range(3):
        visit()
    before = settled(untouched, ask)
    for _ in range(rounds):
        visit()
    after = settled(untouched, ask)
    print(f"after {rounds} rounds: {before} → {after}")
    assert abs(after.objects - before.objects) < rounds // 10 + 2
    assert after.megabytes - before.megabytes < SLACK
    return True


def settled(untouched: Counts, ask: Callable[[], Counts]) -> Counts:
    """The counts, once the process has as many threads and descriptors as it had: it closes the last connection itself."""
    deadline = time.monotonic() + 60
    while (found := ask()).threads != untouched.threads or found.descriptors != untouched.descriptors:
        assert time.monotonic() < deadline, f"{untouched} → {found}"
        time.sleep(0.05)
    return found


def hunt_briefly(session: Session) -> None:
    session.hunt(Terms(seconds=0.0, step_on="__main__:step"), "gradlife attach 1", lambda progress: None)


@pytest.mark.whole
def test_hunts_by_the_door_leave_nothing(tmp_path: Path) -> None:
    def visit() -> None:
        with connect(str(tmp_path / "door")) as session:
            hunt_briefly(session)

    with counting(tmp_path, "door") as (_, ask):
        assert is_as_before(10, visit, ask)


@pytest.mark.slow
@needs_debugger
def test_two_hundred_visits_by_the_debugger_leave_nothing(tmp_path: Path) -> None:
    with counting(tmp_path) as (pid, ask):

        def visit() -> None:
            with attach(pid) as session:
                assert session.pid == pid

        assert is_as_before(200, visit, ask)
