"""The registered environments as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gradlife.model.system import EnvironmentInfo
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, GOOD, QUIET
from gradlife.reports.values import size
from gradlife.reports.visible_report import shows_report

NONE = "no environment; gradlife env add NAME --python PATH torch==VERSION makes one"


@shows_report
def print_environments(console: Console, environments: Sequence[EnvironmentInfo]) -> None:
    """Print a row for each environment, or how to create one."""
    if not environments:
        console.print(Text(NONE, QUIET))
        return
    rows = [row_of(each) for each in environments]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for each, row in zip(environments, rows, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        line = Text.assemble((cells[0], GOOD if each.is_ready else BAD), "  ", "  ".join(cells[1:]), "  ")
        console.print(Hanging(line, Text(each.path, QUIET)), end="")


def row_of(environment: EnvironmentInfo) -> tuple[str, str, str, str]:
    """Return the name, Python, framework with version, and size."""
    has = f"{environment.framework} {environment.version}" if environment.is_ready else "interrupted"
    return environment.name, f"Python {environment.python}", has, size(environment.bytes)
