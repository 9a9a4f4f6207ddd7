"""A look from eight threads, a signal handler, `__del__`, a forked child and `atexit`, and without /proc, gives its answer."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from types import FrameType

import pytest

import gradlife

LOOK = """
import atexit, os, gradlife
class Kept: pass
kept = Kept()
def look(): return str(gradlife.why(kept)).splitlines()[0], type(gradlife.snapshot()).__name__
"""
ANSWER = "('Kept is held: a root reaches it', 'Snapshot')"
HIDDEN_PROC = 'mount -t tmpfs none /proc && exec "$0" "$@"'


class Kept:
    """Something to ask about."""


@pytest.fixture
def kept() -> Kept:
    return Kept()


def first_line(kept: Kept) -> str:
    return str(gradlife.why(kept)).splitlines()[0]


def in_child(program: str, *before: str) -> list[str]:
    done = subprocess.run(
        [*before, sys.executable, "-c", LOOK + program], capture_output=True, text=True, check=False, timeout=900
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.whole
def test_eight_threads_look_at_once(kept: Kept) -> None:
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(first_line(kept))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["Kept is held: a root reaches it"] * 8


def test_a_signal_handler_looks_while_a_snapshot_is_taken(kept: Kept) -> None:
    answers: list[str] = []

    def handle(number: int, frame: FrameType | None) -> None:
        answers.append(first_line(kept))

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        deadline = time.monotonic() + 900
        while not answers and time.monotonic() < deadline:
            gradlife.snapshot()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert answers == ["Kept is held: a root reaches it"]


@pytest.mark.whole
def test_a_destructor_a_forked_child_and_atexit_look() -> None:
    program = """
class Dying:
    def __del__(self): print(look(), flush=True)
dying = Dying()
del dying
if os.fork() == 0:
    print(look(), flush=True)
    os._exit(0)
os.wait()
atexit.register(lambda: print(look(), flush=True))
"""
    assert in_child(program) == [ANSWER] * 3


@pytest.mark.whole
def test_without_proc_a_look_gives_the_same_answer() -> None:
    unshare = shutil.which("unshare")
    hidden = (unshare or "", "-rm", "sh", "-c", HIDDEN_PROC)
    if unshare is None or subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no mount namespace can be made here")
    assert in_child("print(os.path.exists('/proc/self'), look())", *hidden) == [f"False {ANSWER}"]
