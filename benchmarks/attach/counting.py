"""A process that counts what it has, and what many visits of gradlife leave in it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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

#: Visits before the first count: they import modules.
FIRST = 3


@dataclass(frozen=True)
class Counts:
    """What a process has."""

    objects: int
    threads: int
    descriptors: int
    megabytes: float


@contextmanager
def counting(folder: Path, *words: str) -> Iterator[tuple[int, Callable[[], Counts]]]:
    """Start the process; yield its number, and a function that asks it."""
    (folder / "program.py").write_text(COUNTS)
    command = [sys.executable, "program.py", *words]
    # malloc would give a thread an arena of its own whenever the one before has not quite ended
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=environment
    ) as program:
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


def before_and_after(rounds: int, visit: Callable[[], None], ask: Callable[[], Counts]) -> tuple[Counts, Counts]:
    """Count after the first visits, and after so many more."""
    untouched = ask()
    for _ in range(FIRST):
        visit()
    before = settled(untouched, ask)
    for _ in range(rounds):
        visit()
    return before, settled(untouched, ask)


def settled(untouched: Counts, ask: Callable[[], Counts]) -> Counts:
    """Return the counts, once the process has as many threads and descriptors as it had: it closes the last connection
    itself. Raises TimeoutError if it never does.
    """
    deadline = time.monotonic() + 60
    while (found := ask()).threads != untouched.threads or found.descriptors != untouched.descriptors:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{untouched} → {found}")
        time.sleep(0.05)
    return found
