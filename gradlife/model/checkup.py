"""The result of `gradlife doctor`: signs of health by section, with a remedy for each problem."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from gradlife.errors import EXIT_CLEAN, EXIT_FOUND


class Health(StrEnum):
    """The health of one thing."""

    WELL = "well"
    ABSENT = "absent"  # not there, and nothing relies on it
    LESS = "less"  # gradlife works, with fewer details
    BROKEN = "broken"  # gradlife relies on it


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that was examined: a version, a capability, a file."""

    section: str
    name: str
    text: str  # the version, what was found, or why it is not there
    health: Health = Health.WELL
    remedy: str = ""  # of what is `less` or `broken`: what to do

    @property
    def is_problem(self) -> bool:
        """Is there something to be done about it?"""
        return self.health in (Health.LESS, Health.BROKEN)


@dataclass(frozen=True, slots=True)
class Checkup:
    """All signs, in the order of the report."""

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
        """0; 1 where something is broken that gradlife relies on."""
        return EXIT_FOUND if any(sign.health is Health.BROKEN for sign in self.signs) else EXIT_CLEAN


def encode(sign: Sign) -> dict[str, Any]:
    """Return the sign as a JSON object."""
    return {"told" if name == "text" else name: value for name, value in asdict(sign).items()}


def decode(item: dict[str, Any]) -> Sign:
    """Read a sign from a JSON object."""
    named = {"text" if key == "told" else key: value for key, value in item.items()}
    return Sign(**{**named, "health": Health(named["health"])})
