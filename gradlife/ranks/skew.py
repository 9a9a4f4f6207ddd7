"""Ranks that grow faster or have a higher peak than the others, and why."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping

from gradlife.model.ranks import Skew, packed

#: Ranks above the median by this factor and by so many bytes are reported.
GROWTH_SHARE, LEAST_GROWTH = 1.5, 4096
PEAK_SHARE, LEAST_PEAK = 1.25, 64 << 20

#: Bytes that each rank adds per step, by finding.
Rates = Mapping[int, Mapping[str, float]]


def skew_of(rates: Rates, peaks: Mapping[int, float], steps: Mapping[int, int]) -> Iterator[Skew]:
    """Find skew in growth and in peak memory. ``rates``: by rank and title of a finding."""
    growth = {rank: sum(found.values()) for rank, found in rates.items()}
    yield from apart("growth per step", growth, GROWTH_SHARE, LEAST_GROWTH, lambda rank: why_growth(rank, rates))
    known = {rank: peak for rank, peak in peaks.items() if peak}

    def why_peak(rank: int) -> str:
        return why_high(rank, growth, steps)

    yield from apart("peak memory", known, PEAK_SHARE, LEAST_PEAK, why_peak)


def apart(
    measure: str, values: Mapping[int, float], share: float, least: float, why: Callable[[int], str]
) -> Iterator[Skew]:
    """Report the ranks far above the median rank together."""
    if len(values) < 2:
        return
    usual = statistics.median_low(values.values())
    high = [rank for rank, value in values.items() if value >= share * usual and value - usual >= least]
    if high:
        worst = max(high, key=lambda rank: (values[rank], -rank))
        yield Skew(measure, packed(high), len(high), values[worst], usual, why(worst))


def why_growth(rank: int, rates: Rates) -> str:
    """Name the finding that grows most above its median over all ranks."""
    usual = {title: statistics.median_low([found.get(title, 0.0) for found in rates.values()]) for title in rates[rank]}
    title = max(rates[rank], key=lambda one: rates[rank][one] - usual[one])
    if usual[title]:
        return f"{title}: faster than on the other ranks"
    return f"{title}: not on the other ranks"


def why_high(rank: int, growth: Mapping[int, float], steps: Mapping[int, int]) -> str:
    """Explain a high peak: by growth, by more steps, or by neither."""
    usual_growth, usual_steps = statistics.median_low(growth.values()), statistics.median_low(steps.values())
    if growth.get(rank, 0.0) > usual_growth:
        return "it grows faster than the other ranks"
    if steps.get(rank, 0) > usual_steps:
        return f"it took {steps[rank] - usual_steps:,} more counted steps"
    return "nothing that grows explains it: compare `gradlife snapshot` of this rank and another"
