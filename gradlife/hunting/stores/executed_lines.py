"""The lines of the program that run in a step. A line that did not run stores nothing.

It is watched for a few steps of the warm-up. No code of the program is changed; where another tool traces already, or a
compiler takes the frames, nothing is watched and nothing is said to have run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from gradlife.heap.program_modules import is_program
from gradlife.hunting.snapshots.creation_sites import short_path

#: A compiler of frames, which a tracing function would stop.
COMPILER = "torch._dynamo.convert_frame"


class LineWatch:
    """Watches the thread that takes the steps."""

    def __init__(self) -> None:
        self._lines: set[tuple[str, int]] = set()
        self._files: dict[str, bool] = {}
        self._is_over = False

    @property
    def lines(self) -> frozenset[tuple[str, int]]:
        """The files, as they are shown, and the lines."""
        names = {file: short_path(file) for file, is_own in self._files.items() if is_own}
        return frozenset((names[file], line) for file, line in self._lines)

    def start(self) -> None:
        """Watch from here on, the functions that are running among them."""
        if sys.gettrace() is None and COMPILER not in sys.modules:
            for frame in frames_from(sys._getframe(1)):
                if self._is_of_program(frame):
                    frame.f_trace = self._line
            sys.settrace(self._call)

    def stop(self) -> None:
        """End it, unless another tool has taken the place; a thread that has taken steps before ends it at its next call."""
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
