"""The result of `gradlife doctor`: the health of each thing checked, by section, with a remedy for each problem."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from gradlife.errors import EXIT_CLEAN, EXIT_FOUND


class Health(StrEnum):
    """The health of one thing."""

    WELL = "well"
    ABSENT = "absent"  # missing, and nothing relies on it
    LESS = "less"  # gradlife works, with fewer details
    BROKEN = "broken"  # gradlife relies on it


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that was checked: a version, a capability, a file."""

    section: str
    name: str
    text: str  # the version or value, or why it is missing
    health: Health = Health.WELL
    remedy: str = ""  # what to do, where `health` is `less` or `broken`

    @property
    def is_problem(self) -> bool:
        """Whether a remedy is needed."""
        return self.health in (Health.LESS, Health.BROKEN)


@dataclass(frozen=True, slots=True)
class Checkup:
    """All signs, in report order."""

    signs: tuple[Sign, ...]

    @property
    def problems(self) -> tuple[Sign, ...]:
        """The problems, worst first."""
        found = (sign for sign in self.signs if sign.is_problem)
        return tuple(sorted(found, key=lambda sign: sign.health is not Health.BROKEN))

    @property
    def sections(self) -> dict[str, list[Sign]]:
        """The signs by section."""
        found: dict[str, list[Sign]] = {}
        for sign in self.signs:
            found.setdefault(sign.section, []).append(sign)
        return found

    @property
    def exit_status(self) -> int:
        """1 if something that gradlife relies on is broken, else 0."""
        return EXIT_FOUND if any(sign.health is Health.BROKEN for sign in self.signs) else EXIT_CLEAN


def encode(sign: Sign) -> dict[str, Any]:
    """Return the sign as a JSON object."""
    return asdict(sign)


def decode(item: dict[str, Any]) -> Sign:
    """Read a sign from a JSON object."""
    return Sign(**{**item, "health": Health(item["health"])})
