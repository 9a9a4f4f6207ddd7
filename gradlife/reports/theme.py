"""The look of reports: a symbol or a word for everything that matters, so that colour is never needed.

Only the standard ANSI colours that are readable on black and on white: no yellow, no plain blue, no background.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.segment import Segment

from gradlife.visible_text import without_commands, without_controls

GOOD = "green"
BAD = "bold red"
NOTE = "magenta"
QUIET = "dim"
TITLE = "bold"

#: Colours of the lifetime verdicts. The word itself is always printed.
VERDICT_STYLES = {"del": GOOD, "gc": NOTE, "held": "cyan", "never": BAD, "inconclusive": QUIET}

#: One character after a value, so that a table can be read without colour.
DIFFERS, EXPLAINED, CONTRADICTED, UNSTABLE = "*", "~", "!", "?"
MARK_STYLES = {DIFFERS: NOTE, EXPLAINED: "cyan", CONTRADICTED: BAD, UNSTABLE: QUIET}
MARK_MEANINGS = {
    DIFFERS: "differs from {reference}",
    EXPLAINED: "differs from {reference}, for a declared reason",
    CONTRADICTED: "contradicts what the story declares",
    UNSTABLE: "recorded as not the same in every run, so not compared",
}

#: Cells of systems on which a story gave no reading.
NOT_AVAILABLE = "-"


class ReportConsole(Console):
    """A console whose text moves no cursor and is no command to a CI runner; it leaves a broken pipe to its caller."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return without_commands(super()._render_buffer(map(printable, buffer)))

    def on_broken_pipe(self) -> None:
        """Raise the error again; the command line ends quietly on it."""
        raise


def printable(segment: Segment) -> Segment:
    """Return a piece of output with visible text. Only rich's own escape sequences, which have no text, stay."""
    text, style, control = segment
    return segment if control else Segment(without_controls(text), style)


def make_console(file: TextIO | None = None, width: int | None = None, color: bool | None = None) -> Console:
    """Return a console that prints text as it is: no markup, no emoji, no guessed highlighting."""
    return ReportConsole(
        file=file or sys.stdout,
        width=width,
        no_color=None if color is None else not color,
        force_terminal=None if color is None else color,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=False,
    )
