"""The results of comparing readings: with another system, and with the scenario's declarations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gradlife.model.reading import Json, ReadingKey


class Status(StrEnum):
    """The result of comparing one reading with the same reading of another system."""

    SAME = "same"
    DIFFERS = "differs"
    EXPECTED = "expected"  # a difference that the scenario declares and explains
    NOT_AVAILABLE = "not available"  # one of the two systems has no such reading, or its probe could not answer
    UNSTABLE = "unstable"  # the runs of a recording disagreed
    NOT_COMPARED = "not compared"  # the values carry no meaning across systems


class Verdict(StrEnum):
    """The result of a declared reading."""

    MET = "met"
    CONTRADICTED = "contradicted"
    NOT_AVAILABLE = "not available"


class _Missing:
    """The value of a reading that was not taken."""

    def __repr__(self) -> str:
        return "-"


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Comparison:
    """One reading in `system` and in the system compared against; `MISSING` if not taken."""

    key: ReadingKey
    system: str
    against: str
    value: Json
    other: Json
    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """A declared reading in one system: the declaration, its reason, and the actual value."""

    scenario: str
    system: str
    stage: str
    subject: str
    probe: str
    declared: Json
    got: Json  # None if there was no such reading
    because: str
    verdict: str  # a Verdict
    is_of_graph: bool = False  # compares the heap graph's answer with the measurement, not with a declaration

    @property
    def is_contradiction(self) -> bool:
        """Whether the actual value contradicts the declaration."""
        return self.verdict == Verdict.CONTRADICTED
