"""A peak in several processes: the peak of each rank, and what differs."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.peak.report import PeakRank, PeakReport
from gradlife.model.ranks import Skew, Spread
from gradlife.reports.document.blocks import Item, List, Paragraph, Section
from gradlife.reports.document.tables import table
from gradlife.reports.hunt.ranks import shown_ranks, sizes
from gradlife.reports.values import size

HEADS = ("rank", "peak", "never read again", "largest owner", "end", "host")
NUMBERS = frozenset({"peak", "never read again"})

#: Rows that fit on one line of the first screen.
MAX_ROWS = 4


def rank_lines(report: PeakReport) -> Iterator[str]:
    """The peak of each rank in a line, then what the worst rank has that the others have not."""
    if not report.ranks:
        return
    shown = report.ranks[:MAX_ROWS]
    more = f" · {len(report.ranks) - MAX_ROWS:,} more: --full" if len(report.ranks) > MAX_ROWS else ""
    yield "peaks: " + " · ".join(f"{name_of(row)} {peak_of(row)}" for row in shown) + more
    yield from map(skew_words, report.skew)


def name_of(row: PeakRank) -> str:
    """``rank 3``, ``ranks 0-7``."""
    return f"rank{'s' if row.count > 1 else ''} {shown_ranks(row.ranks)}"


def peak_of(row: PeakRank) -> str:
    """The peak of a row; a dash if it is unknown."""
    return sizes(row.peak) if row.peak.most else "-"


def skew_words(one: Skew) -> str:
    """Return what makes the difference: ``rank 1 is 57 MB higher: temporaries of train.py:20, 32 MB (usual 8 MB)``."""
    who = f"rank {one.ranks} is" if one.count == 1 else f"{one.count:,} ranks ({shown_ranks(one.ranks)}) are up to"
    owner = f"{one.owner}, {size(round(one.owner_bytes))} (usual {size(round(one.owner_usual))})"
    return f"{who} {size(round(one.value - one.usual))} higher: {owner}"


def cells(row: PeakRank) -> list[str]:
    """A row of the table, under `HEADS`."""
    percent = Spread(round(row.unused_percent.least, 1), round(row.unused_percent.most, 1))
    share = f"{percent.most:.1f} %" if percent.least == percent.most else f"{percent.least:.1f} to {percent.most:.1f} %"
    return [
        shown_ranks(row.ranks) + (f" ({row.count:,})" if row.count > 1 else ""),
        peak_of(row),
        f"{sizes(row.unused)} ({share})" if row.peak.most else "-",
        row.owner or "-",
        row.end.value + (f" ({row.status})" if row.status else ""),
        row.host or "-",
    ]


def rank_section(report: PeakReport) -> Iterator[Section]:
    """Yield a row for each rank, or for ranks that agree, and what differs between them."""
    if report.ranks:
        words = (*map(skew_words, report.skew), report.trouble)
        notes = [Item(note, tone="note") for note in words if note]
        rows = table("The peak of each rank", HEADS, NUMBERS, [cells(row) for row in report.ranks], "rank-table")
        whose = f"All else in this report is of rank {report.worst_rank}, whose peak is the highest."
        yield Section("The peak by rank", (rows, List(tuple(notes)), Paragraph(whose, tone="quiet")), "ranks")
