"""The totals of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PairTotals:
    """Readings of one probe in one system, by the result of their comparison."""

    system: str
    against: str
    probe: str
    faithful: bool  # both have the same profile, so every difference is an error of the imitation
    same: int = 0
    differs: int = 0
    expected: int = 0
    not_available: int = 0
    unstable: int = 0  # the runs of a recording disagreed, so neither same nor different

    @property
    def compared(self) -> int:
        """Readings that both systems have."""
        return self.same + self.differs + self.expected


@dataclass(frozen=True, slots=True)
class Totals:
    """The last line of a report, in numbers.

    `compared` and the four fields after it count only readings between systems of the same profile (faithful pairs).
    `distinguishing` counts those of them that differ between at least two profiles of the run; `distinguishing_any`
    counts all such readings.
    """

    systems: int = 0
    scenarios: int = 0
    runs: int = 0
    readings: int = 0
    compared: int = 0
    same: int = 0
    differs: int = 0
    expected: int = 0
    not_available: int = 0
    unstable: int = 0
    distinguishing: int = 0
    distinguishing_any: int = 0
    expectations_met: int = 0
    contradictions: int = 0
    failures: int = 0
    unavailable: int = 0
    graph_judged: int = 0  # living subjects for which the heap graph predicted the lifetime
    graph_agrees: int = 0  # subjects whose prediction came true
    graph_inconclusive: int = 0  # subjects for which the graph has no answer
    seconds: float = 0.0
    pairs: tuple[PairTotals, ...] = ()
