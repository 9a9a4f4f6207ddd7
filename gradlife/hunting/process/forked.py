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
from typing import Generic, TypeVar

#: Elsewhere a process with threads can't be trusted to go on after a fork.
CAN_FORK = sys.platform.startswith("linux")

#: Seconds after which a copy is given up; it may wait for a lock that a thread of the program held.
PATIENCE = 120.0

#: The same of a copy for which nobody waits.
LONG_PATIENCE = 900.0

#: How far the work of a service's copies gives way to the service.
NICENESS = 5

T = TypeVar("T")


def in_fork(work: Callable[[], T], niceness: int = 0) -> T:
    """Return the result of ``work``, computed in a forked copy of the process if possible, else in this one.

    The result comes back through pickle. Changes to objects stay in the copy. ``niceness`` is the copy's.
    """
    if CAN_FORK:
        try:
            copy, pipe = start_copy(work, niceness)
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


class Answer(Generic[T]):
    """The result of work that a copy of the process does while this one goes on."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._copy, self._pipe = start_copy(work, NICENESS)
        self._parts: list[bytes] = []
        self._deadline = time.monotonic() + LONG_PATIENCE
        self._is_open = True

    @property
    def is_there(self) -> bool:
        """Has the copy ended, or taken too long? Does not wait."""
        while self._is_open and select.select([self._pipe], [], [], 0)[0]:
            part = os.read(self._pipe, 1 << 16)
            self._parts.append(part)
            if not part:
                self.close()
        return not self._is_open or time.monotonic() > self._deadline

    def read(self) -> T:
        """Return the result; MemoryError where the copy came to no good end."""
        self.close()
        answer = b"".join(self._parts)
        if not answer:
            raise MemoryError
        return pickle.loads(answer)  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the copy."""
        if self._is_open:
            self._is_open = False
            os.close(self._pipe)
            end(self._copy)


def start_copy(work: Callable[[], object], niceness: int = 0) -> tuple[int, int]:
    """The process, and what its answer is read from. Signals are the program's: the copy hears none."""
    reading, writing = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        copy = fork()
        if copy == 0:
            answer_and_exit(work, writing, niceness)
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


def answer_and_exit(work: Callable[[], object], writing: int, niceness: int) -> None:
    """Writes what the work gives; nothing where it fails, for then it is done again where that can be known.

    What traces or profiles the program would make this work many times slower.
    """
    try:
        os.nice(niceness)
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
