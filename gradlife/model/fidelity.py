"""The fidelity of a mini engine profile to the release that it is named after."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND
from gradlife.model.reading import Json
from gradlife.model.system import SystemInfo


@dataclass(frozen=True, slots=True)
class Difference:
    """A reading, or the ending of a story (probe `ending`), that differs between profile and release. No reason:
    unexplained.
    """

    scenario: str
    stage: str
    subject: str
    probe: str
    value: Json  # of the profile
    other: Json  # of the release
    reason: str = ""

    @property
    def is_explained(self) -> bool:
        """Whether a reason is known."""
        return bool(self.reason)


@dataclass(frozen=True, slots=True)
class Nearness:
    """One release compared with its nearest profile.

    comparable: readings that both have and that every round of the recording agrees on; left_out: readings that one of
    them lacks or could not give; unstable: readings on which the rounds of the recording disagree.
    """

    system: SystemInfo
    profile: str
    equal: int
    comparable: int
    left_out: int = 0
    unstable: int = 0
    differences: tuple[Difference, ...] = ()

    @property
    def per_cent(self) -> float | None:
        """The equal share of the comparable readings, in per cent; None if there are none."""
        return 100.0 * self.equal / self.comparable if self.comparable else None

    @property
    def unexplained(self) -> tuple[Difference, ...]:
        """Differences without a reason."""
        return tuple(one for one in self.differences if not one.is_explained)


@dataclass(frozen=True, slots=True)
class FidelityReport:
    """All compared releases, and the names of atlas releases without a recording."""

    lines: tuple[Nearness, ...]
    missing: tuple[str, ...] = ()
    scenarios: int = 0
    seconds: float = 0.0

    @property
    def exit_status(self) -> int:
        """1 if a difference has no reason, 3 if nothing could be compared."""
        if any(line.unexplained for line in self.lines):
            return EXIT_FOUND
        return EXIT_CLEAN if any(line.comparable for line in self.lines) else EXIT_COULD_NOT_TELL
