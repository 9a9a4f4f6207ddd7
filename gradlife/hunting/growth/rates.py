"""Whether rounds of different lengths add about as much per step."""

from __future__ import annotations

from collections.abc import Sequence

#: The least growth of a round per step, as a share of the fastest round. Leaks that occur every few steps vary.
MIN_SHARE = 0.25

#: The same of what each step does: rounds of few steps differ by the pieces that fall into them.
EVEN = 0.8


def are_steady(counts: Sequence[float], steps: Sequence[int]) -> bool:
    """Whether every round added per step more than `MIN_SHARE` of what the fastest did."""
    rates = [count / number for count, number in zip(counts, steps, strict=True)]
    return len(rates) > 1 and min(rates) > MIN_SHARE * max(rates)


def are_even(counts: Sequence[float], steps: Sequence[int], share: float = EVEN) -> bool:
    """Whether every round added something, and per step at least this share of what the fastest did."""
    rates = [count / number for count, number in zip(counts, steps, strict=True)]
    return len(rates) > 1 and min(rates) > 0 and min(rates) >= share * max(rates)
