"""Memory that processes share: a row for each maker, and what was left behind."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.hunt import HuntReport
from gradlife.model.ranks import SharedLeftover, SharedStorages
from gradlife.reports.document.blocks import Item, List, Section
from gradlife.reports.document.tables import table
from gradlife.reports.values import counted, size

HEADS = ("made by", "shared as", "segments", "bytes", "mapped by", "not taken yet")
NUMBERS = frozenset({"segments", "bytes", "not taken yet"})

#: Most processes of a row that are named.
MAX_NAMES = 4


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


def shared_memory_section(report: HuntReport) -> Iterator[Section]:
    """Yield the table of shared memory, then what was left behind."""
    ledger = report.shared_memory
    if ledger.segments:
        title = f"Shared memory at its largest: {size(ledger.bytes)} in {counted(ledger.segments, 'segment')}"
        rows = table(
            "Who made it, and who maps it", HEADS, NUMBERS, [cells(row) for row in ledger.rows], "shared-table"
        )
        left = tuple(Item(leftover_words(one), tone="note") for one in ledger.leftovers)
        yield Section(title, (rows, List(left)), "shared")
