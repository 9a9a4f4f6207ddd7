"""Print predictions and measurements for wasteful programs and for those with unread memory, reports for clean ones, and
the cost of recording.

Run with `make bench-peak`; `ARGS=--savings` omits the cost, `ARGS=--cost` the programs.
"""

from __future__ import annotations

import argparse
import sys

from rich.console import Console
from rich.table import Table

from benchmarks.peak.cost import LIMIT, cost_table
from benchmarks.peak.measured import (
    CLEAN,
    NOTHING,
    TOGETHER,
    UNREAD,
    WASTEFUL,
    Outcome,
    outcomes,
    peak_of,
    programs,
    unread_outcome,
)
from gradlife.model.peak.report import PeakReport


def savings_table() -> tuple[Table, bool]:
    """Return a table of each program's report and the savings of its edits, and whether all are right."""
    heads = "program", "edit", "peak", "predicted", "measured", "", "of malloc"
    table = Table(*heads, title="bytes that an edit saves, and how much of malloc's growth storages explain")
    is_good = True
    for path in programs(WASTEFUL):
        text = path.read_text(encoding="utf-8")
        report = peak_of(text)
        for one in outcomes(text, report):
            is_good &= one.is_right and (one.measured > 0 or one.what != TOGETHER)  # alone an edit may save nothing
            table.add_row(path.stem, *cells(one, report))
    for path in programs(UNREAD):
        text = path.read_text(encoding="utf-8")
        report = peak_of(text)
        one = unread_outcome(text, report)
        is_good &= one.is_right and one.measured > 0 and not report.savings
        table.add_row(path.stem, *cells(one, report))
    for path in programs(CLEAN):
        report = peak_of(path.read_text(encoding="utf-8"))
        is_good &= report.saved_bytes <= NOTHING * report.peak_bytes
        holders = "; ".join(saving.holder for saving in report.savings) or "nothing to save"
        table.add_row(
            path.stem, holders, f"{report.peak_bytes:,}", f"{report.saved_bytes:,}", "", "", explained(report)
        )
    return table, is_good


def cells(one: Outcome, report: PeakReport) -> list[str]:
    """Return the cells of one prediction."""
    numbers = (f"{number:,}" for number in (report.peak_bytes, one.predicted, one.measured))
    return [one.what, *numbers, "" if one.is_right else "OFF", explained(report)]


def explained(report: PeakReport) -> str:
    """Return how much of malloc's growth up to the peak, without gradlife's records, the growth of storages explains.

    Empty if malloc did not grow.
    """
    memory = report.memory
    if memory is None or memory.grown_bytes <= memory.own_bytes:
        return ""
    return f"{memory.recorded_bytes / (memory.grown_bytes - memory.own_bytes):.1%}"


def main() -> int:
    """Print the tables; 1 if a prediction is off by more than 3 %, or a clean program or an unread one gets a saving."""
    parser = argparse.ArgumentParser(prog="make bench-peak", description=__doc__)
    parser.add_argument("--savings", action="store_true", help="only the programs")
    parser.add_argument("--cost", action="store_true", help="only the cost of recorded steps")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds after which a row of the cost is given up")
    args = parser.parse_args()
    console, is_good = Console(width=160), True
    if not args.cost:
        table, is_good = savings_table()
        console.print(table)
    if not args.savings:
        console.print(cost_table(args.limit))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
