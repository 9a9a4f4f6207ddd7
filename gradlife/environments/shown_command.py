"""Run a command with visible progress, and keep the end of its output."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from gradlife.readable import readable

#: Bytes of output kept.
TAIL_LIMIT = 16384

#: Seconds between two checks whether a silent command has ended.
POLL = 0.2

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]")


@dataclass(frozen=True, slots=True)
class Shown:
    """The exit of a command, and its last lines."""

    exit_code: int
    lines: tuple[str, ...]


def run_shown(command: Sequence[str], environment: Mapping[str, str], to: TextIO | None = None) -> Shown:
    """Run a command and pass its output to a stream, standard error by default, as it comes.

    On a terminal the command sees a terminal and draws its progress bars. An interruption kills the command and
    everything that it started.
    """
    stream = to or sys.stderr
    reading, writing = pty.openpty() if stream.isatty() else os.pipe()
    try:
        with os.fdopen(writing, "wb") as end:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=end, stderr=end, env=environment, start_new_session=True
            )
        try:
            tail = pass_on(reading, stream, process)
            code = process.wait()
        finally:
            end_group(process)
    finally:
        os.close(reading)
    return Shown(code, lines_of(tail))


def pass_on(descriptor: int, stream: TextIO, process: subprocess.Popen[bytes]) -> bytes:
    """Pass output on until it ends, or until the process ends if another one keeps the output open. Return its end."""
    tail = bytearray()
    while True:
        if not readable([descriptor], POLL):
            if process.poll() is None:
                continue
            if not readable([descriptor], 0):  # it may have said something since, and ended
                break
        data = read_some(descriptor)
        if not data:
            break
        tail += data
        del tail[:-TAIL_LIMIT]
        with contextlib.suppress(OSError, ValueError):  # the reader has gone
            stream.write(data.decode("utf-8", "replace"))
            stream.flush()
    return bytes(tail)


def read_some(descriptor: int) -> bytes:
    """Read available data; empty at the end, which a terminal reports as an error."""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill everything left of a command."""
    if process.returncode is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def lines_of(output: bytes) -> tuple[str, ...]:
    """Return the nonempty lines, without cursor movements."""
    text = _CONTROL.sub("", output.decode("utf-8", "replace")).replace("\r", "\n")
    return tuple(line.strip() for line in text.splitlines() if line.strip())
