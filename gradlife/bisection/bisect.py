"""One bisection: the ends are hunted first, then the middle, until the first bad one is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradlife.bisection.followed import Hunted, follow
from gradlife.bisection.search import first_bad
from gradlife.model.bisection import Bisected, Candidate, Judged, Outcome

#: Hunts one commit or release.
Hunt = Callable[[Candidate], Hunted]


def bisect(
    good: Candidate,
    row: Sequence[Candidate],
    hunt: Hunt,
    see: Callable[[Judged], object],
    fingerprint: str = "",
) -> Bisected:
    """Find the first bad candidate of a row, whose last one is bad; the good one stands before the row.

    Hunts both ends, then about as many times as the row's length has binary digits. Raises as `follow`.
    """
    at_bad = hunt(row[-1])
    at_good = hunt(good)
    followed = follow(good, at_good, row[-1], at_bad, fingerprint)
    judged: list[Judged] = []
    findings = {len(row) - 1: followed.finding}

    def note(candidate: Candidate, hunted: Hunted) -> Outcome:
        outcome = followed.outcome(hunted)
        judged.append(Judged(candidate, outcome, hunted.why if outcome is Outcome.SKIPPED else ""))
        see(judged[-1])
        return outcome

    def judge(number: int) -> Outcome:
        hunted = hunt(row[number])
        found = followed.found(hunted)
        if found is not None:
            findings[number] = found
        return note(row[number], hunted)

    note(row[-1], at_bad)
    note(good, at_good)
    suspects = first_bad(len(row), judge)
    return Bisected(tuple(row[number] for number in suspects), findings[suspects[-1]], tuple(judged))
