"""The lines of the program that run in a step. A line that did not run stores nothing.

Lines are recorded for a few steps of the warm-up. No code of the program is changed. If another tool traces already, a
compiler takes the frames, or the steps do not end, nothing is recorded and no line counts as run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from gradlife.heap.program_modules import is_program
from gradlife.hunting.snapshots.creation_sites import short_path

#: The module of a compiler of frames, which a trace function would stop.
COMPILER = "torch._dynamo.convert_frame"

#: Most lines that run while they are recorded, about a second of tracing: a program may go on without steps.
MAX_LINES = 2_000_000


class LineWatch:
    """Records the lines that run in the thread that takes the steps."""

    def __init__(self) -> None:
        self._lines: set[tuple[str, int]] = set()
        self._files: dict[str, bool] = {}
        self._left = MAX_LINES
        self._is_over = False

    @property
    def lines(self) -> frozenset[tuple[str, int]]:
        """The files, as reports show them, and the lines; none if too many ran to see all."""
        if not self._left:
            return frozenset()
        names = {file: short_path(file) for file, is_own in self._files.items() if is_own}
        return frozenset((names[file], line) for file, line in self._lines)

    def start(self) -> None:
        """Record from now on, in functions that are already running as well."""
        if sys.gettrace() is None and COMPILER not in sys.modules:
            for frame in frames_from(sys._getframe(1)):
                if self._is_of_program(frame):
                    frame.f_trace = self._line
            sys.settrace(self._call)

    def stop(self) -> None:
        """Stop, unless another tool has set its own trace function. Other threads stop at their next call."""
        self._is_over = True
        if sys.gettrace() == self._call:
            sys.settrace(None)
        for frame in frames_from(sys._getframe(1)):
            if frame.f_trace == self._line:
                frame.f_trace = None

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self._is_over:
            sys.settrace(None)
            return None
        return self._line if self._is_of_program(frame) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self._is_over:
            return None
        if event == "line":
            self._lines.add((frame.f_code.co_filename, frame.f_lineno))
            self._left -= 1
            self._is_over = not self._left
        return self._line

    def _is_of_program(self, frame: FrameType) -> bool:
        file = frame.f_code.co_filename
        if file not in self._files:
            self._files[file] = is_program(file)
        return self._files[file]


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back
