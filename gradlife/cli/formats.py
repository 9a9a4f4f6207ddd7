"""The output files of a report, one per format: opened before the work begins, written after it."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gradlife.cli.report_file import open_report
from gradlife.errors import UsageError
from gradlife.output import STDOUT, LostOutputError, OutputFile, OutputStream, write_all
from gradlife.visible_text import visible_json, visible_lines

if TYPE_CHECKING:
    from rich.console import Console

HELP = {
    "json": "write everything as JSON; - for standard output",
    "junit": "write JUnit XML for CI servers",
    "markdown": "write Markdown for an issue or a job summary; $GITHUB_STEP_SUMMARY is appended to",
    "sarif": "write results with a file and a line as SARIF, for code scanning",
}


def add_formats(parser: argparse.ArgumentParser, **helps: str) -> None:
    """Declare an option for each format, and the switch for annotations."""
    for name, text in {**HELP, **helps}.items():
        parser.add_argument(f"--{name}", metavar="FILE", help=text)
    parser.add_argument(
        "--github", action="store_true", help="print annotations for GitHub; the default in its workflows"
    )


#: Formats in which a character can be escaped without a change of the value.
IN_JSON = frozenset({"json", "sarif"})

#: Returns the text of a format: a function, or its name as module:function.
Writer = Callable[..., str | bytes] | str


def add_svg(parser: argparse.ArgumentParser) -> None:
    """Declare the option for a picture of what is printed."""
    parser.add_argument("--svg", metavar="FILE", help="draw the printed output as an SVG picture")


def picture(show: Callable[[Console, Any], object], title: str) -> Writer:
    """Return the writer of `--svg`, which draws what a function prints of a report on a console."""

    def write(report: Any) -> str:
        from gradlife.reports.svg import svg_of

        return svg_of(lambda console: show(console, report), title)

    return write


class Outputs:
    """The files named by `--FORMAT FILE` options. Entering it proves that every file can be written.

    `writers` has for each option the function that returns the text, or its name as module:function, which is imported
    only if the option is used.
    """

    def __init__(self, args: argparse.Namespace, writers: Mapping[str, Writer]) -> None:
        self._writers = writers
        self._is_forced = getattr(args, "force", False)
        self._paths = {name: path for name in writers if (path := getattr(args, name, None)) is not None}
        self._stack = ExitStack()
        self._open: dict[str, OutputFile | OutputStream] = {}

    @property
    def is_stdout_taken(self) -> bool:
        """Whether one of them goes to standard output, which must then have nothing else."""
        return STDOUT in self._paths.values()

    @property
    def formats(self) -> list[str]:
        """The options that were given."""
        return list(self._paths)

    def __enter__(self) -> Outputs:
        refuse_twice(self._paths)
        with self._stack:  # close those already opened if another cannot be opened
            for name, path in self._paths.items():
                output = open_report(path, f"--{name}", self._is_forced)
                self._stack.enter_context(output)
                self._open[name] = output
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def write(self, report: Any, **options: Any) -> None:
        """Write each file. An error does not stop the others; it is raised at the end."""
        lost: list[LostOutputError] = []
        for name, output in self._open.items():
            try:
                put(output, visible_text(name, self.writer(name)(report, **self.known(name, options))))
            except LostOutputError as error:
                lost.append(error)
        if lost:
            raise lost[0]

    def writer(self, name: str) -> Callable[..., str | bytes]:
        """Return the function that makes the text of a format."""
        writer = self._writers[name]
        if not isinstance(writer, str):
            return writer
        module, _, function = writer.partition(":")
        found: Callable[..., str | bytes] = getattr(importlib.import_module(module), function)
        return found

    def known(self, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that the format's function accepts."""
        taken = inspect.signature(self.writer(name)).parameters
        return {option: value for option, value in options.items() if option in taken}

    def load(self) -> None:
        """Import all writers that will be needed."""
        for name in self._paths:
            self.writer(name)


def visible_text(name: str, made: str | bytes) -> str | bytes:
    """Return what a format's function made, with every character visible, whoever wrote the text in it."""
    if isinstance(made, bytes):
        return made
    return visible_json(made) if name in IN_JSON else visible_lines(made)


def put(output: OutputFile | OutputStream, made: str | bytes) -> None:
    """Write a text or a picture."""
    if isinstance(made, str):
        output.write(made)
    elif isinstance(output, OutputFile):
        output.fill(lambda descriptor: write_all(descriptor, made))


def refuse_twice(paths: Mapping[str, str]) -> None:
    """Raise if two formats have the same destination."""
    seen: dict[str, str] = {}
    for name, path in paths.items():
        place = path if path == STDOUT else os.path.realpath(path)
        if os.path.exists(place) and not os.path.isfile(place):
            continue  # a pipe or a terminal accepts several in a row
        if place in seen:
            where = "standard output" if path == STDOUT else path
            raise UsageError(f"--{seen[place]} and --{name} both go to {where}", "a file for each")
        seen[place] = name
