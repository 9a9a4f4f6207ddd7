"""One line at the bottom of the terminal, below whatever a program prints.

The program's own output scrolls in the lines above, as that of packages does in apt. A line among the program's lines would
be overwritten by half, because only the program knows when it prints next.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from gradlife.visible_text import visible

#: Rows and columns that a terminal must have.
LEAST_ROWS, LEAST_COLUMNS = 6, 40

#: Escape sequences: the cursor a row down, scrolling if needed, and up again; its position kept and taken up again.
MAKE_ROOM, KEEP, BACK = "\x1bD\x1b[A", "\x1b7", "\x1b8"


class LiveLine:
    """A line on standard error. It shows nothing unless that is a terminal in whose foreground this process runs."""

    def __init__(self) -> None:
        self._descriptor = terminal_of_errors()
        self._rows = 0  # of the terminal when the bottom row was set apart; 0: it is not
        self._text = ""
        self._before: object = None  # the handler of SIGTSTP

    @property
    def is_possible(self) -> bool:
        """Whether there is a terminal that can show the line."""
        return self._descriptor >= 0

    def show(self, parts: Sequence[str]) -> None:
        """Show a text in place of the one before: as many of its parts as fit."""
        with suppress(OSError, ValueError):
            columns, rows = os.get_terminal_size(self._descriptor)
            if rows < LEAST_ROWS or columns < LEAST_COLUMNS or not self._is_in_foreground():
                return
            text = fitting(list(map(visible, parts)), columns - 1)
            if (text, rows) != (self._text, self._rows):
                reserved = "" if rows == self._rows else self._reserve(rows)
                self._write(f"{reserved}{KEEP}\x1b[{rows};1H\x1b[2K{text}{BACK}")
                self._text, self._rows = text, rows

    def erase(self) -> None:
        """Erase the line, and give its row back to the program."""
        if not self._rows:
            return
        with suppress(OSError):
            self._write(f"{KEEP}\x1b[r\x1b[{self._rows};1H\x1b[2K{BACK}")
        self._rows, self._text = 0, ""
        if self._before is not None:
            signal.signal(signal.SIGTSTP, self._before)  # type: ignore[arg-type]
            self._before = None

    def _reserve(self, rows: int) -> str:
        """Return what sets the bottom row apart: the cursor leaves it, and the rows above scroll by themselves."""
        if not self._rows and signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL:
            with suppress(ValueError):  # not the main thread
                self._before = signal.signal(signal.SIGTSTP, self._stop)
        return f"{MAKE_ROOM}{KEEP}\x1b[1;{rows - 1}r{BACK}"

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Leave the terminal as it was, and stop."""
        self.erase()
        os.kill(os.getpid(), number)

    def _is_in_foreground(self) -> bool:
        return os.tcgetpgrp(self._descriptor) == os.getpgrp()

    def _write(self, text: str) -> None:
        """Write in one call, so that nothing of the program comes between."""
        os.write(self._descriptor, text.encode("utf-8", "replace"))


def fitting(parts: Sequence[str], width: int) -> str:
    """Join the first of the parts, as many as fit; a first one that does not is cut."""
    text = parts[0][:width]
    for part in parts[1:]:
        if len(text) + len(part) + 2 > width:
            break
        text += f", {part}"
    return text


def terminal_of_errors() -> int:
    """Return the descriptor of standard error if it is a terminal with a cursor, else -1."""
    try:
        is_terminal = sys.stderr.isatty()
        return sys.stderr.fileno() if is_terminal and os.environ.get("TERM", "dumb") != "dumb" else -1
    except (AttributeError, OSError, ValueError):  # closed, or replaced
        return -1


@contextmanager
def announced(text: str) -> Iterator[None]:
    """Show a text on a terminal for the time of a block in which the terminal is this process's alone."""
    terminal = terminal_of_errors()
    if terminal < 0:
        yield
        return
    with suppress(OSError):
        os.write(terminal, f"gradlife: {visible(text)}".encode("utf-8", "replace"))
    try:
        yield
    finally:
        with suppress(OSError):
            os.write(terminal, b"\r\x1b[2K")
