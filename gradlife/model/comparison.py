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
    NOT_AVAILABLE = "not available"  # one of the two has no such reading, or could not tell
    UNSTABLE = "unstable"  # one of the two is recorded as not the same in every run
    NOT_COMPARED = "not compared"  # such values say nothing about each other


class Verdict(StrEnum):
    """The result of a declared reading."""

    MET = "met"
    CONTRADICTED = "contradicted"
    NOT_AVAILABLE = "not available"


class _Missing:
    """Stands for the value of a reading that was not taken."""

    def __repr__(self) -> str:
        return "-"


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Comparison:
    """One reading in `system` and in the one compared against; `MISSING` where there is none."""

    key: ReadingKey
    system: str
    against: str
    value: Json
    other: Json
    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """A declared reading in one system: what was declared and why, and what came."""

    scenario: str
    system: str
    stage: str
    subject: str
    probe: str
    declared: Json
    got: Json  # None if there was no such reading
    because: str
    verdict: str  # a Verdict
    is_of_graph: bool = False  # the heap graph's answer against what was measured, rather than against a declaration

    @property
    def is_contradiction(self) -> bool:
        """Did something else come than was declared?"""
        return self.verdict == Verdict.CONTRADICTED
