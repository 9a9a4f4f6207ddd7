"""The readings of one scenario in one release after the other."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.model.reading import Json
from gradlife.model.system import SystemInfo


@dataclass(frozen=True, slots=True)
class Moment:
    """One reading in one release. why: how the story ended there, if it gave no such reading."""

    system: str
    value: Json = None
    why: str = ""
    is_unstable: bool = False
    is_changed: bool = False  # since the release of the same framework in the column before

    @property
    def is_there(self) -> bool:
        """Was the reading taken?"""
        return not self.why


@dataclass(frozen=True, slots=True)
class Change:
    """A pull request that is known to have changed something between two releases."""

    first: str  # the first release of those compared that has it
    pull: str  # owner/name#number
    what: str


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One subject and probe, at one stage. sentences: a sentence a framework, if anything changed in it."""

    stage: str
    subject: str
    probe: str
    moments: tuple[Moment, ...]
    sentences: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Did it change between two releases?"""
        return any(moment.is_changed for moment in self.moments)


@dataclass(frozen=True, slots=True)
class History:
    """A scenario's readings by release. Systems whose name begins with `mini:` are the engine, which imitates releases."""

    scenario: str
    title: str
    systems: tuple[SystemInfo, ...]
    rows: tuple[HistoryRow, ...]
    missing: tuple[str, ...] = ()  # releases of the atlas without a recording
    unrecorded: tuple[str, ...] = ()  # recordings that lack the scenario
