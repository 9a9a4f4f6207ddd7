"""The part of a report about memory that processes share: a row for each maker, and what was left behind."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gradlife.model.hunt import HuntReport
from gradlife.model.ranks import SharedLeftover, SharedStorages
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import NOTE, QUIET
from gradlife.reports.values import counted, size

HEADS = ("made by", "shared as", "segments", "bytes", "mapped by", "not taken yet")
NUMBERS = frozenset({"segments", "bytes", "not taken yet"})

#: Most processes of a row that are named.
MAX_NAMES = 4


def shared_title(report: HuntReport) -> str:
    """Return the title of the table: ``Shared memory at its largest: 12.3 MB in 40 segments``."""
    ledger = report.shared_memory
    return f"Shared memory at its largest: {size(ledger.bytes)} in {counted(ledger.segments, 'segment')}"


def cells(row: SharedStorages) -> list[str]:
    """Return a row of the table, under `HEADS`."""
    more = f" and {len(row.mapped_by) - MAX_NAMES:,} more" if len(row.mapped_by) > MAX_NAMES else ""
    return [
        row.made_by,
        row.kind,
        f"{row.count:,}",
        size(row.bytes),
        (", ".join(row.mapped_by[:MAX_NAMES]) or "no process") + more,
        f"{row.waiting:,}" if row.waiting else "-",
    ]


def leftover_words(one: SharedLeftover) -> str:
    """Describe a file that was left behind."""
    maker = f", made by {one.made_by}" if one.made_by else ""
    return f"left behind: {one.path} ({one.kind}), {size(one.bytes)}{maker}"


def shared_table(report: HuntReport) -> Iterator[RenderableType]:
    """Yield the table, then what was left."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=QUIET)
    for head in HEADS:
        table.add_column(head, justify="right" if head in NUMBERS else "left", overflow="fold")
    for row in report.shared_memory.rows:
        table.add_row(*cells(row))
    yield table
    for one in report.shared_memory.leftovers:
        yield Hanging(Text("  "), Text(leftover_words(one), NOTE))
