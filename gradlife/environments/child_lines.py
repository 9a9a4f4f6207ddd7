"""Read what a child sends on its own descriptor, while draining its output."""

from __future__ import annotations

import contextlib
import os
import time

from gradlife.readable import readable

#: Bytes kept from the end of a child's output.
TAIL_LIMIT = 4096

#: The longest accepted line.
LINE_LIMIT = 1024 * 1024

CHUNK = 65536


class Silence(Exception):
    """No complete line came: the child ended, sent nothing in time, or sent too long a line."""

    def __init__(self, is_late: bool = False) -> None:
        super().__init__(is_late)
        self.is_late = is_late


class LineReader:
    """Read whole lines from one descriptor and drain the other, the child's output, keeping its end.

    The reader owns both descriptors: `close` closes them.
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
        """Return the next line without its end. Raises `Silence` if none comes within limit seconds."""
        deadline = time.monotonic() + limit
        while b"\n" not in self._buffer:
            if len(self._buffer) > LINE_LIMIT:
                raise Silence
            self._wait(deadline)
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer[:] = rest
        return line

    def exactly(self, size: int, limit: float) -> bytes:
        """Return the next size bytes."""
        deadline = time.monotonic() + limit
        while len(self._buffer) < size:
            self._wait(deadline)
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def last_words(self) -> str:
        """Return the end of the child's output so far."""
        while self._output in self._open and readable([self._output], 0):
            if len(self._read(self._output)) == CHUNK:
                break  # stop although it still prints: this is enough
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
        for each in readable(self._open, left):
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
    """Return the last nonempty line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
