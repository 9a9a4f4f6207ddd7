"""Commands in a terminal of their own."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

#: How gradlife sets its line apart, draws it, and erases it: each is written in one call.
RESERVED = re.compile(r"\x1bD\x1b\[A\x1b7\x1b\[1;(\d+)r\x1b8")
DRAWN = re.compile(r"\x1b7\x1b\[(\d+);1H\x1b\[2K([^\x1b]*)\x1b8")
COLOURS = re.compile(r"\x1b\[[\d;]*m")
ERASED = re.compile(r"\x1b7\x1b\[r\x1b\[\d+;1H\x1b\[2K\x1b8")


def in_terminal(
    folder: Path, *arguments: str, rows: int = 24, columns: int = 80, output: Path | None = None, term: str = "xterm"
) -> tuple[int, str]:
    """Run gradlife with a terminal of this size; return its status and all that the terminal got.

    ``output``: a file in place of standard output.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-c", START, *arguments]
    with open(output or os.devnull, "wb") as file:
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=theirs,
            stdout=file if output is not None else theirs,
            stderr=theirs,
            env={**environment, "TERM": term, "NO_COLOR": "1"},
            start_new_session=True,
        )
    os.close(theirs)
    written = b""
    while True:
        try:
            written += os.read(ours, 65536)
        except OSError:  # the last process with the terminal has ended
            break
    os.close(ours)
    return child.wait(900), written.decode().replace("\r\n", "\n")


#: Make the terminal this session's, as a shell does, and run gradlife.
START = """
import fcntl, os, sys, termios
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "gradlife", *sys.argv[1:]])
"""


def live_lines(written: str) -> list[str]:
    """Return what stood in the live line, one after the other."""
    return [text for _, text in DRAWN.findall(written)]


def without_live_line(written: str) -> str:
    """Return what the terminal got besides the live line and colours."""
    return COLOURS.sub("", ERASED.sub("", DRAWN.sub("", RESERVED.sub("", written))))
