"""Merges the peaks of all ranks: the report of the worst rank, a row for each, and what differs between them."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gradlife.errors import UsageError
from gradlife.hunting.process.rank import RESULT
from gradlife.model.peak.report import PeakRank, PeakReport
from gradlife.model.ranks import RankEnd, Skew, Spread, rank_ranges
from gradlife.program.peak.parent import REPORT, PeakGuard
from gradlife.ranks.merge import ROW_EACH, capped, end_text, end_texts, status_of_run
from gradlife.ranks.rank_report import end_of, folders_of_ranks, json_at, member_at
from gradlife.ranks.skew import most_above

#: Ranks whose peak is above the median by this factor and by this many bytes are skew.
SHARE, LEAST = 1.05, 1 << 20


@dataclass(frozen=True)
class RankPeak:
    """The peak of one rank, and how the rank ended."""

    rank: int
    world_size: int = 0  # 0: unknown
    host: str = ""
    end: RankEnd = RankEnd.FINISHED
    status: int | None = None
    report: PeakReport | None = None
    trouble: str = ""

    @property
    def bytes(self) -> int:
        """The peak; 0 if unknown."""
        return self.report.peak_bytes if self.report is not None else 0


def peaks_in(folder: str) -> Iterator[RankPeak]:
    """Yield the ranks of a run folder."""
    for name in folders_of_ranks(folder):
        path = os.path.join(folder, name)
        member, result = member_at(path), json_at(os.path.join(path, RESULT))
        yield RankPeak(
            int(name.partition("-")[2]),
            member.world_size if member is not None else 0,
            member.host if member is not None else "",
            end_of(result, "", None, member),
            result.get("status"),
            PeakGuard.read_report(path, REPORT),
            str(result.get("trouble", "")),
        )


def merge_peaks(target: str, peaks: Iterable[RankPeak], world_size: int = 0) -> PeakReport:
    """Merge the peaks of all ranks of a program; ranks below ``world_size`` without a folder are missing."""
    found = {one.rank: one for one in peaks}
    if not found:
        raise UsageError("there is no report of any rank", "gradlife peak --nproc-per-node N SCRIPT")
    world = max([world_size, 1 + max(found), *(one.world_size for one in found.values())])
    for rank in set(range(world)) - found.keys():
        found[rank] = RankPeak(rank, world, end=RankEnd.MISSING)
    ranks = [found[rank] for rank in sorted(found)]
    worst = max(ranks, key=lambda one: (one.bytes, -one.rank))
    report = worst.report or next((one.report for one in ranks if one.report is not None), PeakReport(target, ""))
    limits = dict.fromkeys(limit for one in ranks if one.report is not None for limit in one.report.limits)
    return replace(
        report,
        world_size=world,
        worst_rank=worst.rank,
        ranks=tuple(rows(ranks)),
        skew=tuple(skew_of(worst, ranks)),
        limits=capped([*limits]),
        trouble=trouble_of(ranks),
        script_status=status_of_run([(one.end, one.status) for one in ranks]),
    )


def rows(ranks: Sequence[RankPeak]) -> Iterator[PeakRank]:
    """Yield a row for each rank; of many, those that agree to one per cent share one."""
    alike: dict[object, list[RankPeak]] = {}
    for one in ranks:
        agreed = (one.end, one.status, f"{one.bytes:.2e}")
        alike.setdefault(one.rank if len(ranks) <= ROW_EACH else agreed, []).append(one)
    yield from map(row, alike.values())


def row(ranks: Sequence[RankPeak]) -> PeakRank:
    """Return the row of ranks that agree."""
    reports = [one.report or PeakReport("", "") for one in ranks]
    first = ranks[0]
    return PeakRank(
        rank_ranges(one.rank for one in ranks),
        len(ranks),
        first.end,
        first.status,
        Spread.of([one.peak_bytes for one in reports]),
        Spread.of([one.unused_bytes for one in reports]),
        Spread.of([one.unused_percent for one in reports]),
        reports[0].owners[0].owner.value if reports[0].owners else "",
        first.host,
        first.trouble or reports[0].trouble,
    )


def skew_of(worst: RankPeak, ranks: Sequence[RankPeak]) -> Iterator[Skew]:
    """Find the ranks that peak higher, and the line whose storages make the difference on the worst."""
    peaks = {one.rank: one.bytes for one in ranks if one.bytes}
    usual = statistics.median_low(peaks.values()) if len(peaks) > 1 else 0
    high = [rank for rank, peak in peaks.items() if peak >= SHARE * usual and peak - usual >= LEAST]
    if not usual or not high:
        return
    tables = {one.rank: held_at_peak(one.report) for one in ranks if one.report is not None and one.bytes}
    name, value, other = most_above(worst.rank, tables)
    how = "more than on the other ranks" if other else "not on the other ranks"
    yield Skew(
        "peak",
        rank_ranges(high),
        len(high),
        worst.bytes,
        usual,
        f"{name}: {how}",
        owner=name,
        owner_bytes=value,
        owner_usual=other,
    )


def held_at_peak(report: PeakReport) -> Mapping[str, float]:
    """Return the bytes at the peak by owner and the line that made them; by owner alone if lines are unknown."""
    if report.picture is None:
        return {share.owner.value: share.bytes for share in report.owners}
    found: dict[str, float] = {}
    for band in report.picture.bands:
        place = f"{os.path.basename(band.place.file)}:{band.place.line}" if band.place.file else ""
        words = f"{band.owner.value}{f' of {place}' if place else ''}{f' in {band.module}' if band.module else ''}"
        found[words] = found.get(words, 0.0) + band.bytes[report.picture.peak]
    return found


def trouble_of(ranks: Sequence[RankPeak]) -> str:
    """Describe ranks that did not finish or have no peak, those that agree together."""
    return "; ".join(end_texts((one.rank, one.status, end_words(one)) for one in ranks))


def end_words(one: RankPeak) -> str:
    """Describe how a rank failed, or why it has no peak; empty if all is well."""
    words = end_text(one.end, one.status, one.trouble, "")
    if words or one.bytes:
        return words
    return f"without a peak: {one.report.trouble}" if one.report is not None else "left no report"
