"""Work in a forked copy of this process: the memory that it takes is freed with the copy."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from gradlife.after_fork import renew_copy
from gradlife.readable import readable

#: On other systems a process with threads cannot safely go on after a fork.
CAN_FORK = sys.platform.startswith("linux")

#: The name of a copy's main thread.
COPY = "gradlife-copy"

#: Seconds before a copy is given up; it may wait for a lock that a thread of the program held.
PATIENCE = 120.0

#: The same for a copy that nobody waits for.
LONG_PATIENCE = 900.0

#: The niceness of copies of a service, so that they give way to it.
NICENESS = 5

#: Bytes of the length before an answer.
LENGTH = 8

#: Whether this process is a copy, which runs nothing of the program.
is_copy = False

T = TypeVar("T")


def in_fork(work: Callable[[], T], niceness: int = 0) -> T:
    """Return the result of ``work``, computed in a forked copy if possible, else in this process.

    The result is pickled. Changes to objects stay in the copy. ``niceness`` is that of the copy.
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


@dataclass(frozen=True)
class Done(Generic[T]):
    """The result of work that is done already, with the methods of ``Answer``."""

    result: T
    is_there: bool = True

    def wait(self) -> None:
        """Nothing is waited for."""

    def read(self) -> T:
        """Return the result."""
        return self.result

    def close(self) -> None:
        """Nothing is left to end."""


class Answer(Generic[T]):
    """The result of work that a forked copy does while this process goes on. ``niceness``: 0 if this process waits for it."""

    def __init__(self, work: Callable[[], T], niceness: int = NICENESS) -> None:
        self._copy, self._pipe = start_copy(work, niceness)
        self._parts: list[bytes] = []
        self._deadline = time.monotonic() + (LONG_PATIENCE if niceness else PATIENCE)
        self._is_open = True

    @property
    def is_there(self) -> bool:
        """Whether the copy has ended or taken too long. Does not wait."""
        while self._is_open and readable([self._pipe], 0):
            self._read_part()
        return not self._is_open or time.monotonic() > self._deadline

    def wait(self) -> None:
        """Wait until the copy has ended or taken too long."""
        while self._is_open and readable([self._pipe], max(0.0, self._deadline - time.monotonic())):
            self._read_part()

    def _read_part(self) -> None:
        part = os.read(self._pipe, 1 << 16)
        self._parts.append(part)
        if not part:
            self.close()

    def read(self) -> T:
        """Return the result; MemoryError if the copy left none."""
        self.close()
        answer = unwrap(b"".join(self._parts))
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
    """Fork a copy to do the work; return its process ID and the pipe with its answer. It receives no signals."""
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
    """Fork a copy with a name of its own, so that it does not pass for a process of the program.

    The program does not see it: none of its functions of `os.register_at_fork` and audit hooks run, and no SIGCHLD comes at
    the end. OSError: no copy can be had.
    """
    import _imp  # here, as the next: not before the program begins

    from gradlife import _heap

    _heap.note_libraries()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    _imp.acquire_lock()
    try:
        copy = _heap.fork_silently()
    finally:
        _imp.release_lock()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if copy == 0:
        become_copy()
    return copy


def become_copy() -> None:
    """Note that this process is a copy, and name its main thread. Nothing is imported and no object is left: the copy's heap
    is yet to be read.
    """
    global is_copy
    from gradlife import _heap  # loaded by `fork`

    is_copy = True
    _heap.keep_libraries()
    renew_copy()
    with suppress(OSError):
        thread = os.open("/proc/self/comm", os.O_WRONLY)
        os.write(thread, COPY.encode())
        os.close(thread)


def answer_and_exit(work: Callable[[], object], writing: int, niceness: int) -> None:
    """Write the pickled result of the work and exit; write nothing if the work fails.

    Tracing, profiling and recording are turned off, as they would make the work many times slower.
    """
    # Loaded already wherever there is anything to record; the command line starts without it.
    from gradlife import _heap

    try:
        os.nice(niceness)
        sys.settrace(None)
        sys.setprofile(None)
        _heap.rest_recording()
        result = pickle.dumps(work())
        answer = memoryview(len(result).to_bytes(LENGTH, "little") + result)
        while answer:
            answer = answer[os.write(writing, answer) :]
    finally:
        os._exit(0)


def read_answer(pipe: int) -> bytes:
    """Read the whole answer; empty if it takes too long."""
    parts: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while readable([pipe], max(0.0, deadline - time.monotonic())):
        part = os.read(pipe, 1 << 16)
        if not part:
            return unwrap(b"".join(parts))
        parts.append(part)
    return b""


def unwrap(answer: bytes) -> bytes:
    """Return an answer without its length; empty if its copy was killed before all of it was written."""
    length, rest = answer[:LENGTH], answer[LENGTH:]
    return rest if len(rest) == int.from_bytes(length, "little") else b""


def end(copy: int) -> None:
    """Kill and reap a copy, which a signal handler of the program may have reaped before."""
    from gradlife import _heap

    _heap.end_silently(copy)


def wait_for(copy: int, options: int = 0) -> tuple[int, int]:
    """Wait for a copy, as `os.waitpid` does; that alone does not see a copy."""
    from gradlife import _heap

    return os.waitpid(copy, options | _heap.WAIT_FOR_SILENT)
