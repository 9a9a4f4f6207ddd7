"""The report of `gradlife explain expectations`: what may grow, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from gradlife.model.growth import FOR_ALL_ROWS, Effect, ExpectedGrowth
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import QUIET, TITLE

EFFECTS = {
    Effect.EXPECTED: "no finding",
    Effect.NOTE: "a note",
    Effect.WAIT: "a leak, until a later snapshot shows less",
}


def print_expectations(console: Console, rows: Iterable[ExpectedGrowth]) -> None:
    """Print the table, then what holds for all rows."""
    for row in rows:
        console.print(Text(row.name, TITLE))
        console.print(Hanging(Text("  "), Text(row.applies)), end="")
        end = f"; ends at: {row.ends}" if row.ends else ""
        console.print(Hanging(Text("  → ", QUIET), Text(EFFECTS[row.effect] + end, QUIET)), end="")
    console.print(Text("\nFor all of them"))
    for sentence in FOR_ALL_ROWS:
        console.print(Hanging(Text("  "), Text(sentence)), end="")


def markdown_lines(rows: Iterable[ExpectedGrowth]) -> Iterator[str]:
    """Yield the table as Markdown."""
    yield "| row | what grows | it is | it ends at |"
    yield "|---|---|---|---|"
    for row in rows:
        yield f"| {row.name} | {row.applies} | {EFFECTS[row.effect]} | {row.ends} |"
    yield ""
    yield " ".join(FOR_ALL_ROWS)
