"""Find the ranks that grow faster or have a higher peak than the others, and the reason, such as a leak on these ranks alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gradlife.model.ranks import Skew, rank_ranges

#: Ranks above the median by this factor and by this many bytes are reported.
GROWTH_FACTOR, MIN_GROWTH = 1.5, 4096
PEAK_FACTOR, MIN_PEAK = 1.25, 64 << 20

#: An owner (an object that retains memory) is named as the reason for a high peak only if it accounts for this share of
#: the peak's excess over the median.
MIN_SHARE = 0.1

#: The reason that is given if nothing that is alive at a snapshot explains a peak.
TRANSIENT = "nothing that the rank holds after a step explains its peak: `gradlife peak --nproc-per-node N` looks within the step"


@dataclass(frozen=True)
class RankFacts:
    """The figures by which one rank is compared with the others."""

    # For each finding, such as "GL402 stored results keep their graphs", the bytes that it adds per step.
    rates: Mapping[str, float] = field(default_factory=dict)
    peak: float = 0.0  # resident bytes; 0: unknown
    steps: int = 0
    owners: Mapping[str, int] = field(default_factory=dict)  # retained bytes, by owner

    @property
    def growth(self) -> float:
        """The bytes added per step by all findings."""
        return sum(self.rates.values())


#: The figures of all ranks that left a report.
Ranks = Mapping[int, RankFacts]


def skew_of(ranks: Ranks) -> Iterator[Skew]:
    """Find skew in growth and in peak memory."""
    growth = {rank: one.growth for rank, one in ranks.items()}
    yield from compared(
        "growth per step",
        growth,
        GROWTH_FACTOR,
        MIN_GROWTH,
        lambda skew, rank: with_reason_of_growth(skew, rank, ranks),
    )
    peaks = {rank: one.peak for rank, one in ranks.items() if one.peak}
    yield from compared(
        "peak memory", peaks, PEAK_FACTOR, MIN_PEAK, lambda skew, rank: with_reason_of_peak(skew, rank, ranks)
    )


def compared(
    measure: str,
    values: Mapping[int, float],
    factor: float,
    least: float,
    explain: Callable[[Skew, int], Skew],
) -> Iterator[Skew]:
    """Compare the ranks' values; report those far above the median, together as one skew."""
    if len(values) < 2:
        return
    usual = statistics.median_low(values.values())
    high = [rank for rank, value in values.items() if value >= factor * usual and value - usual >= least]
    if high:
        worst = max(high, key=lambda rank: (values[rank], -rank))
        yield explain(Skew(measure, rank_ranges(high), len(high), values[worst], usual, reason=""), worst)


def with_reason_of_growth(skew: Skew, rank: int, ranks: Ranks) -> Skew:
    """Give the skew its reason: the finding whose growth on this rank is furthest above the median of all ranks."""
    finding, _, usual = most_above(rank, {number: facts.rates for number, facts in ranks.items()})
    how = "faster than on the other ranks" if usual else "not on the other ranks"
    return replace(skew, reason=f"{finding}: {how}", code=finding.partition(" ")[0])


def with_reason_of_peak(skew: Skew, rank: int, ranks: Ranks) -> Skew:
    """Explain a high peak: by what the rank holds, by faster growth, or by more steps than the median rank took.

    The first of these that applies is the reason; if none does, `TRANSIENT`.
    """
    explained = with_owner_as_reason(skew, rank, ranks)
    if explained is not None:
        return explained
    own = ranks[rank]
    if own.growth > statistics.median_low([one.growth for one in ranks.values()]):
        return with_reason_of_growth(skew, rank, ranks)
    more = own.steps - statistics.median_low([one.steps for one in ranks.values()])
    return replace(skew, reason=f"it took {more:,} more steps than the median rank" if more > 0 else TRANSIENT)


def with_owner_as_reason(skew: Skew, rank: int, ranks: Ranks) -> Skew | None:
    """Give the skew its reason: the owner whose bytes on this rank are furthest above the median of all ranks.

    None if no owner accounts for enough of the peak.
    """
    if not ranks[rank].owners:
        return None
    name, value, usual = most_above(rank, {number: facts.owners for number, facts in ranks.items()})
    if value - usual < MIN_SHARE * (skew.value - skew.usual):
        return None
    how = "more than on the other ranks" if usual else "not on the other ranks"
    return replace(skew, reason=f"{name}: {how}", owner=name, owner_bytes=value, owner_usual=usual)


def most_above(rank: int, tables: Mapping[int, Mapping[str, float]]) -> tuple[str, float, float]:
    """Find the name whose value on this rank is furthest above the median of all ranks. Return (name, value, median)."""
    usual = {name: statistics.median_low([table.get(name, 0.0) for table in tables.values()]) for name in tables[rank]}
    highest = max(tables[rank], key=lambda name: tables[rank][name] - usual[name])
    return highest, tables[rank][highest], usual[highest]
