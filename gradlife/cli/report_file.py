"""The files that commands write: none replaces a file of somebody else, and each is named once it is written."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from gradlife.output import STDOUT, AppendedFile, NoOutput, OutputFile, OutputStream, is_summary, say
from gradlife.overwriting import refuse_overwriting


def add_force(parser: argparse.ArgumentParser) -> None:
    """Declare the option that lets a report replace a file."""
    parser.add_argument("--force", action="store_true", help="replace files of other tools, too; never a source")


class ReportFile(OutputFile):
    """An output file of a command. ``option`` named it."""

    def __init__(self, path: str, option: str = "", is_forced: bool = False) -> None:
        super().__init__(path)
        self._option = option
        self._is_forced = is_forced

    def _open(self) -> None:
        refuse_overwriting(self.path, self._option, self._is_forced, is_story=self._option == "--export-scenario")
        super()._open()

    def fill(self, write: Callable[[int], None], hint: str = "another place") -> None:
        """Write the file through a function that receives its descriptor, and say that it is there."""
        super().fill(write, hint)
        if self._target:  # not a pipe
            from gradlife.reports.values import size  # not earlier: a program starts before its report is made

            say(f"gradlife: wrote {self.path}, {size(os.stat(self._target).st_size)}")


def open_report(path: str | None, option: str, is_forced: bool) -> OutputFile | OutputStream:
    """Open the output that an option names: a file, - for standard output, or None."""
    if path is None:
        return NoOutput()
    if path == STDOUT:
        return OutputStream()
    return AppendedFile(path) if is_summary(path) else ReportFile(path, option, is_forced)
