"""The files that a hunt's report is written to besides its JSON, each in a format of its own."""

from __future__ import annotations

import argparse
import importlib
from contextlib import ExitStack
from types import TracebackType

from gradlife.model.hunt import HuntReport
from gradlife.output import OutputFile, OutputStream, open_output

#: Options, and what makes the text: a module, imported when there is something to write, and its function of a report.
FORMATS = {
    "markdown": ("gradlife.reports.hunt_markdown", "hunt_markdown"),
    "html": ("gradlife.reports.html.hunt", "hunt_page"),
}


class ReportFiles:
    """The files that were asked for; entering it proves that all of them can be written."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._paths = {name: path for name in FORMATS if (path := getattr(args, name)) is not None}
        self._stack = ExitStack()
        self._outputs: dict[str, OutputFile | OutputStream] = {}

    def __enter__(self) -> ReportFiles:
        with ExitStack() as stack:
            for name, path in self._paths.items():
                output = open_output(path)
                stack.enter_context(output)
                self._outputs[name] = output
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def write(self, report: HuntReport) -> None:
        """Write them all."""
        for name, output in self._outputs.items():
            module, function = FORMATS[name]
            output.write(getattr(importlib.import_module(module), function)(report))
