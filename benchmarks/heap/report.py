"""The measurements as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from benchmarks.heap.targets import Row

VERDICTS = {True: Text("met", "green"), False: Text("missed", "bold red"), None: Text("-", "dim")}


def table_of(title: str, rows: Sequence[Row]) -> Table:
    """Return a line per target."""
    table = Table(title=title, title_justify="left", show_lines=False)
    for heading in ("question", "gradlife", "compared with", "result", "target", ""):
        table.add_column(heading, overflow="fold", justify="right" if heading == "result" else "left")
    for row in rows:
        cells = (Text(text) for text in (row.question, row.measured, row.compared, row.result, row.target))
        table.add_row(*cells, VERDICTS[row.is_met])
    return table


def verdict_line(rows: Sequence[Row]) -> Text:
    """Count the targets that are met, missed, and not measured."""
    counts = [sum(row.is_met is verdict for row in rows) for verdict in (True, False, None)]
    return Text(f"{counts[0]} met, {counts[1]} missed, {counts[2]} not measured", "green" if not counts[1] else "red")
