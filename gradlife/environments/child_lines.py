"""Reads what a child says on a descriptor of its own while it may print as much as it likes."""

from __future__ import annotations

import contextlib
import os
import select
import time

#: Bytes at the end of a child's output that are kept.
TAIL_LIMIT = 4096

#: The longest line that is waited for.
LINE_LIMIT = 1024 * 1024

CHUNK = 65536


class Silence(Exception):
    """No complete line came: the child ended, sent nothing in time, or sent a line that is too long."""

    def __init__(self, is_late: bool = False) -> None:
        super().__init__(is_late)
        self.is_late = is_late


class LineReader:
    """Whole lines from one descriptor; what comes from the other, the child's output, is dropped but for its end.

    Both descriptors are the reader's from then on: `close` closes them.
    """

    def __init__(self, descriptor: int, output: int) -> None:
        self._descriptor = descriptor
        self._output = output
        self._buffer = bytearray()
        self._tail = bytearray()
        self._open = [descriptor, output]
        for each in self._open:
            os.set_blocking(each, False)

    def line(self, limit: float) -> bytes:
        """The next line, without its end; `Silence` if none comes within limit seconds."""
        deadline = time.monotonic() + limit
        while b"\n" not in self._buffer:
            if len(self._buffer) > LINE_LIMIT:
                raise Silence
            self._wait(deadline)
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer[:] = rest
        return line

    def exactly(self, size: int, limit: float) -> bytes:
        """The next size bytes."""
        deadline = time.monotonic() + limit
        while len(self._buffer) < size:
            self._wait(deadline)
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def last_words(self) -> str:
        """The end of what the child printed until now."""
        while self._output in self._open and select.select([self._output], [], [], 0)[0]:
            if len(self._read(self._output)) == CHUNK:
                break  # it does not stop: these are words enough
        return self._tail.decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Close both descriptors."""
        for each in (self._descriptor, self._output):
            with contextlib.suppress(OSError):
                os.close(each)
        self._open = []

    def _wait(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Silence(is_late=True)
        for each in select.select(self._open, [], [], left)[0]:
            self._read(each)
        if self._descriptor not in self._open:
            raise Silence

    def _read(self, descriptor: int) -> bytes:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self._open.remove(descriptor)
        if descriptor == self._descriptor:
            self._buffer += data
        else:
            self._tail += data
            del self._tail[:-TAIL_LIMIT]
        return data


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
