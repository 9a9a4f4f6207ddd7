"""Work in a forked copy of this process: what it takes of memory is gone with the copy."""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

#: Elsewhere a process with threads can't be trusted to go on after a fork.
CAN_FORK = sys.platform.startswith("linux")

#: Seconds after which a copy is given up; it may wait for a lock that a thread of the program held.
PATIENCE = 120.0

T = TypeVar("T")


def in_fork(work: Callable[[], T]) -> T:
    """Return the result of ``work``, computed in a forked copy of the process if possible, else in this one.

    The result comes back through pickle. Changes to objects stay in the copy.
    """
    if CAN_FORK:
        try:
            copy, pipe = start_copy(work)
        except OSError:
            return work()
        try:
            answer = read_answer(pipe)
        finally:
            os.close(pipe)
            end(copy)
        if answer:
            return pickle.loads(answer)  # type: ignore[no-any-return]
    return work()


def start_copy(work: Callable[[], object]) -> tuple[int, int]:
    """The process, and what its answer is read from. Signals are the program's: the copy hears none."""
    reading, writing = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        copy = fork()
        if copy == 0:
            answer_and_exit(work, writing)
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return copy, reading


def fork() -> int:
    """Forks. Python 3.12 warns where there are threads: the copy starts none, and waits for none."""
    if sys.version_info < (3, 12):
        return os.fork()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def answer_and_exit(work: Callable[[], object], writing: int) -> None:
    """Writes what the work gives; nothing where it fails, for then it is done again where that can be known.

    What traces or profiles the program would make this work many times slower.
    """
    try:
        sys.settrace(None)
        sys.setprofile(None)
        answer = memoryview(pickle.dumps(work()))
        while answer:
            answer = answer[os.write(writing, answer) :]
    finally:
        os._exit(0)


def read_answer(pipe: int) -> bytes:
    """Read everything that is written; None if it takes too long."""
    parts: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(pipe, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return b""


def end(copy: int) -> None:
    """Makes sure that it is gone; a handler of the program's may have heard of its end before."""
    try:
        os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)
    except (ProcessLookupError, ChildProcessError):
        return
