"""A bisection: the first commit, or the first release of a library, with a finding."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gradlife.model.hunt import Finding


class Outcome(StrEnum):
    """What a hunt says of a commit or a release."""

    GOOD = "good"
    BAD = "BAD"
    SKIPPED = "skipped"  # could not tell


@dataclass(frozen=True)
class Candidate:
    """A commit or a release."""

    name: str  # as it is shown: "1a2b3c4d5e", "torch 2.10.0"
    key: str  # the whole name of the commit, or the version
    title: str = ""  # the subject of the commit
    date: str = ""  # of its author: "2026-11-30"


@dataclass(frozen=True)
class Judged:
    """A commit or release that was hunted in."""

    candidate: Candidate
    outcome: Outcome
    why: str = ""  # why it could not be judged


@dataclass(frozen=True)
class Bisected:
    """The result. The first bad one is one of the suspects; all but the last of them could not be judged."""

    suspects: tuple[Candidate, ...]
    finding: Finding  # as the last suspect has it
    judged: tuple[Judged, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether the first bad one is known."""
        return len(self.suspects) == 1
