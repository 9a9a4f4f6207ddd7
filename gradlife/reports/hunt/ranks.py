"""A hunt in several processes: the ranks of a finding, a row for ranks that agree, skew."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradlife.model.hunt import Finding, HuntReport
from gradlife.model.ranks import NO_VERDICT, FindingRanks, RankRow, Skew, SnapshotCost, Spread
from gradlife.reports.document.blocks import Item, List, Section, Tone
from gradlife.reports.document.tables import Cell, table
from gradlife.reports.values import counted, plural, size

HEADS = ("rank", "verdict", "end", "findings", "steps", "growth/step", "peak", "host")
NUMBERS = frozenset({"findings", "steps", "growth/step", "peak"})
#: The tones of verdicts; of all others, a note.
TONES: dict[str, Tone] = {"leak": "bad", "clean": "good"}

#: The end of a skew's reason if only these ranks have the finding.
ALONE = "not on the other ranks"

#: The end of an owner's name if it is the storage of a tensor.
OF_A_TENSOR = " → storage: torch::StorageImpl"

#: Most characters of a list of ranks.
MAX_RANKS = 40


def who_has(finding: Finding) -> str:
    """Return who has a finding, empty for one process.

    ``rank 1 of 2 only``, ``all 4 DataLoader workers, 2.1 to 2.3 MB per batch``.
    """
    return "; on ".join(ranks_words(one) for one in (finding.in_workers, finding.on_ranks) if one is not None)


def ranks_words(found: FindingRanks) -> str:
    """Return the processes that have a finding, with their rates."""
    only = " only" if found.count == 1 < found.world_size else ""
    who = processes(found) + only
    return f"{who}, {sizes(found.per_step)} per {found.step}" if found.per_step.most >= 1 else who


def processes(found: FindingRanks) -> str:
    """Format processes: ``rank 1 of 2``, ``all 4 DataLoader workers``, ``3 of 8 ranks (0-2)``."""
    if found.count == found.world_size > 1:
        return f"all {found.count:,} {plural(found.kind)}"
    if found.count == 1:
        return f"{found.kind} {found.ranks} of {found.world_size:,}"
    return f"{found.count:,} of {found.world_size:,} {plural(found.kind)} ({shown_ranks(found.ranks)})"


def leaking_ranks(report: HuntReport) -> str:
    """Return the ranks with the verdict of the run: ``rank 1 of 2``, ``all 8 ranks``."""
    rows = [row for row in report.ranks if row.verdict == report.verdict.value]
    count, world = sum(row.count for row in rows), report.world_size
    if count == world:
        return f"all {world:,} ranks"
    return f"rank {rows[0].ranks} of {world:,}" if count == 1 else f"{count:,} of {world:,} ranks"


def shown_ranks(ranks: str) -> str:
    """Return a list of ranks; of a long one its beginning."""
    if len(ranks) <= MAX_RANKS:
        return ranks
    return f"{ranks[:MAX_RANKS].rpartition(',')[0]}, ..."


def sizes(values: Spread) -> str:
    """Format a range of sizes: ``2.1 to 2.3 MB``, or one size if both look the same."""
    least, most = size(round(values.least)), size(round(values.most))
    if least == most:
        return most
    same_unit = least.rpartition(" ")[2] == most.rpartition(" ")[2]
    return f"{least.rpartition(' ')[0] if same_unit else least} to {most}"


def counts(values: Spread) -> str:
    """Format a range of counts: ``40``, ``38 to 40``."""
    least, most = f"{round(values.least):,}", f"{round(values.most):,}"
    return most if least == most else f"{least} to {most}"


def cells(row: RankRow) -> list[str | Cell]:
    """Return a row of the table, under `HEADS`."""
    heard = row.verdict != NO_VERDICT
    many = f" ({row.count:,})" if row.count > 1 else ""
    return [
        shown_ranks(row.ranks) + many,
        Cell(row.verdict if heard else "no report", style=TONES.get(row.verdict, "note")),
        row.end.value + (f" ({row.status})" if row.status else ""),
        f"{row.findings:,}" if heard else "-",
        counts(row.steps) if heard else "-",
        sizes(row.growth) if heard else "-",
        sizes(row.peak) if row.peak.most else "-",
        row.host or "-",
    ]


def skew_words(one: Skew) -> str:
    """Describe a rank that has more than the others, and why."""
    who = f"rank {one.ranks}" if one.count == 1 else f"{one.count:,} ranks ({shown_ranks(one.ranks)})"
    more = " up to" if one.count > 1 else ""
    value = f"{one.measure} of {who}:{more} {size(round(one.value))}, the usual rank {size(round(one.usual))}"
    if one.owner:
        there = f"holds {size(round(one.owner_bytes))} there, {size(round(one.owner_usual))} on the usual rank"
        return f"{value}; {plain_owner(one.owner)} {there}"
    return f"{value}; {one.reason}"


def plain_owner(name: str) -> str:
    """Format an owner: ``cache (dict)`` for ``module __main__: global variable 'cache': dict``."""
    name = name.replace(OF_A_TENSOR, ": Tensor")
    found = re.fullmatch(r"module __main__: global variable '([^']+)'(.*): ([^:]+)", name)
    return f"{found[1]}{found[2]} ({found[3]})" if found is not None else name


def cost_words(cost: SnapshotCost) -> str:
    """Describe the cost of snapshots."""
    alone = f", {counted(cost.alone, 'snapshot')} by single ranks" if cost.alone else ""
    return (
        f"{counted(cost.shared, 'snapshot')} at the same steps{alone}; the longest took {milliseconds(cost.longest)}; "
        f"a rank waited {milliseconds(cost.extra_wait)} more for the others (median; at most "
        f"{milliseconds(cost.most_extra_wait)})"
    )


def milliseconds(seconds: float) -> str:
    """Format a time as ``12 ms``."""
    return f"{1000 * seconds:,.0f} ms"


def unexplained_skew(report: HuntReport) -> Iterator[str]:
    """Yield the first skew that the ranks of no finding show already."""
    unexplained = [one for one in report.skew if not (one.code and one.reason.endswith(ALONE))]
    if unexplained:
        yield f"Skew: {skew_words(unexplained[0])}"


def rank_section(report: HuntReport) -> Iterator[Section]:
    """Yield the table of ranks, then what went wrong on single ranks, the skew, and the cost of snapshots."""
    if not report.ranks:
        return
    notes = [
        Item(row.trouble, lead=f"rank {shown_ranks(row.ranks)}", tone="note") for row in report.ranks if row.trouble
    ]
    notes += [Item(skew_words(one), lead="skew", tone="note") for one in report.skew]
    notes += [Item(cost_words(report.snapshot_cost), lead="snapshots")] if report.snapshot_cost is not None else []
    rows = table("How each rank ended", HEADS, NUMBERS, [cells(row) for row in report.ranks], "rank-table")
    yield Section("Ranks", (rows, List(tuple(notes))), "ranks")
