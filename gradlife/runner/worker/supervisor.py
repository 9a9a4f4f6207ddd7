"""Supervise one child: gather its records and the end of its output, and kill it at its time limit."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from typing import Any

#: Bytes kept from the end of a story's output.
OUTPUT_LIMIT = 8192

#: Most bytes of a story's records. A story that sends more is stopped.
RESULT_LIMIT = 32 * 1024 * 1024

#: Seconds between two checks of a child whose pipes its own children hold open.
POLL = 0.05

#: First pause while waiting for a child that closed its pipes.
SHORTEST_PAUSE = 0.0005

#: Bytes read from one pipe before the other gets its turn.
CHUNK = 65536
CHUNKS = 16


class Supervision:
    """One child from start to end."""

    def __init__(self, pid: int, result: int, output: int, limit: float) -> None:
        self.pid = pid
        self.result = bytearray()
        self.output = bytearray()
        self.overflowed = False
        self._status: int | None = None  # of the ended child
        self._buffers = {result: self.result, output: self.output}
        self._open = [result, output]
        self._pause = SHORTEST_PAUSE
        self._limit = limit
        for descriptor in self._open:
            os.set_blocking(descriptor, False)

    def run(self) -> dict[str, Any]:
        """Wait for the end, kill remaining processes of the child, and return how it ended."""
        deadline = time.monotonic() + self._limit
        timed_out = False
        while not self._has_ended() and not timed_out and not self.overflowed:
            self._gather()
            timed_out = time.monotonic() > deadline
        timed_out = timed_out and self._status is None  # it may have ended in time, and this process was late to see it
        kill_group(self.pid)
        if self._status is None:
            self._status = os.waitpid(self.pid, 0)[1]
        for descriptor in list(self._open):
            self._read(descriptor)
        for descriptor in self._buffers:
            os.close(descriptor)
        return {
            "timed_out": timed_out,
            "overflowed": self.overflowed,
            "exit_code": exit_code(self._status),
            "output": bytes(self.output).decode("utf-8", "replace"),
        }

    def _has_ended(self) -> bool:
        """Whether the child itself has ended."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == self.pid:
            self._status = status
        return pid == self.pid

    def _gather(self) -> None:
        """Wait for data and read it; when both pipes are closed the child should end soon."""
        if not self._open:
            time.sleep(self._pause)
            self._pause = min(2 * self._pause, POLL)
        for descriptor in select.select(self._open, [], [], POLL)[0] if self._open else ():
            self._read(descriptor)

    def _read(self, descriptor: int) -> None:
        """Read available data, at most a few chunks."""
        buffer = self._buffers[descriptor]
        for _ in range(CHUNKS):
            try:
                data = os.read(descriptor, CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._open.remove(descriptor)
                return
            buffer += data
            self._bound()

    def _bound(self) -> None:
        del self.output[:-OUTPUT_LIMIT]
        if len(self.result) > RESULT_LIMIT:
            self.overflowed = True
            del self.result[RESULT_LIMIT:]


def exit_code(status: int) -> int:
    """Convert a wait status to an exit code; negative for a signal."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def kill_group(pid: int) -> None:
    """Kill a child and the processes in its group."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
