"""The full report of a hunt in the terminal."""

from __future__ import annotations

from rich.console import Console

from gradlife.model.hunt import HuntReport
from gradlife.reports.document.terminal import print_document
from gradlife.reports.hunt.document import NextCommands, hunt_document
from gradlife.reports.hunt.sentences import next_commands

#: Most findings to show in full; the others get a row each.
IN_FULL = 5


def print_hunt(console: Console, report: HuntReport, in_full: bool = False, then: NextCommands = next_commands) -> None:
    """Print the whole report; `in_full` shows every finding with its trace, `then` has the next commands."""
    cards = len(report.findings) if in_full else IN_FULL
    print_document(console, hunt_document(report, cards, "--full shows them all", then))
