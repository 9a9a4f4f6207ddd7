"""Worker processes: a row for workers that agree, and memory that they copy by reading."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.hunt import HuntReport
from gradlife.model.ranks import NO_VERDICT, WorkerRow
from gradlife.reports.document.blocks import Item, List, Section
from gradlife.reports.document.tables import Cell, table
from gradlife.reports.hunt.ranks import TONES, counts, processes, sizes
from gradlife.reports.values import plural, size

HEADS = ("workers", "verdict", "start", "findings", "steps", "growth/step")
NUMBERS = frozenset({"findings", "steps", "growth/step"})

#: Advice on how to store data that workers read.
CURE = "keep them in one numpy array or tensor, or in an Arrow table"


def name_of(row: WorkerRow) -> str:
    """Format the name of workers: ``DataLoader workers 0-3 of 4``."""
    kind = plural(row.kind) if row.count > 1 else row.kind
    return f"{kind} {row.workers} of {row.group:,}"


def cells(row: WorkerRow) -> list[str | Cell]:
    """Return a row of the table, under `HEADS`."""
    heard = row.verdict != NO_VERDICT
    return [
        name_of(row) + (f" ({row.label})" if row.label else ""),
        Cell(row.verdict if heard else "too few steps", style=TONES.get(row.verdict, "note")),
        row.start_method,
        f"{row.findings:,}" if heard else "-",
        counts(row.steps) if heard else "-",
        sizes(row.growth) if heard else "-",
    ]


def copy_words(row: WorkerRow) -> str:
    """Explain why the memory of workers grows although they keep nothing; empty if it does not."""
    copied = row.copied
    if copied is None:
        return ""
    amounts = f"{size(copied.bytes)} so far, {size(round(copied.per_step))} per {row.step}"
    share = f"{copied.share:.0%} of the pages of its {copied.items:,} items"
    return (
        f"not a leak: reading {copied.holder} copies its pages into {name_of(row)} ({amounts}): each read writes a reference "
        f"count to memory shared with the parent, {share} so far; {CURE}"
    )


def leaking_workers(report: HuntReport) -> str:
    """Return ``DataLoader worker 0 of 4`` if only workers leak; else empty."""
    found = [one.in_workers for one in report.findings]
    first = found[0] if found else None
    if first is None or None in found:
        return ""
    alike = all(one is not None and one.kind == first.kind for one in found)
    return processes(first) if alike else "workers"


def worker_notes(report: HuntReport) -> Iterator[str]:
    """Yield a sentence for each group of workers that copies what it reads, or has trouble."""
    for row in report.workers:
        if row.copied is not None:
            yield copy_words(row)
        if row.trouble:
            yield f"{name_of(row)}: {row.trouble}"


def worker_section(report: HuntReport) -> Iterator[Section]:
    """Yield the table of workers, then the notes on them."""
    if report.workers:
        rows = table("What each worker kept", HEADS, NUMBERS, [cells(row) for row in report.workers], "worker-table")
        notes = [Item(note, tone="good" if note.startswith("not a leak") else "note") for note in worker_notes(report)]
        yield Section("Workers", (rows, List(tuple(notes))), "workers")
