"""The sums of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PairTotals:
    """Readings of one probe in one system, by how they compare with the system compared against."""

    system: str
    against: str
    probe: str
    faithful: bool  # the two have one profile, so every difference is a fault of the imitation
    same: int = 0
    differs: int = 0
    expected: int = 0
    not_available: int = 0
    unstable: int = 0  # recorded as not the same in every run, so neither like nor unlike

    @property
    def compared(self) -> int:
        """Readings that both have."""
        return self.same + self.differs + self.expected


@dataclass(frozen=True, slots=True)
class Totals:
    """The closing line of a report, in numbers.

    `compared` and the four after it count readings between the systems of one profile (the faithful pairs) only.
    `telling` readings of those compared differ between two profiles of the run or more; `telling_any` counts all such.
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
    telling: int = 0
    telling_any: int = 0
    expectations_met: int = 0
    contradictions: int = 0
    failures: int = 0
    unavailable: int = 0
    graph_judged: int = 0  # living subjects of which the heap graph said what becomes of them
    graph_agrees: int = 0  # and of these, those of which the same then came
    graph_inconclusive: int = 0  # subjects that the graph could not tell of
    seconds: float = 0.0
    pairs: tuple[PairTotals, ...] = ()
