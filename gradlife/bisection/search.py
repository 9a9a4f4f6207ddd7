"""Binary search for the first bad one of a row, where some cannot be judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from gradlife.model.bisection import Outcome


def first_bad(count: int, judge: Callable[[int], Outcome]) -> Sequence[int]:
    """Return the position of the first bad one among ``count``. The last is known to be bad, what stands before the first to
    be good. If those before it cannot be judged, return their positions, too: it is one of them.
    """
    good, bad = -1, count - 1
    skipped: list[int] = []
    while (middle := next_to_judge(good, bad, skipped)) is not None:
        match judge(middle):
            case Outcome.GOOD:
                good = middle
            case Outcome.BAD:
                bad = middle
            case Outcome.SKIPPED:
                skipped.append(middle)
    return range(good + 1, bad + 1)


def next_to_judge(good: int, bad: int, skipped: Sequence[int]) -> int | None:
    """Return the middle of the longest stretch that nothing is known of; None if there is none left.

    Without skipped ones that is the middle. A row of commits that do not run is left quickly.
    """
    known = sorted({good, bad, *(one for one in skipped if good < one < bad)})
    start, end = max(pairwise(known), key=lambda pair: pair[1] - pair[0])
    return (start + end) // 2 if end - start > 1 else None


def most_hunts(count: int) -> int:
    """Return about how many have to be judged."""
    return math.ceil(math.log2(count)) if count > 1 else 0
