"""The readings of one scenario in successive releases."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.model.reading import Json
from gradlife.model.system import SystemInfo


@dataclass(frozen=True, slots=True)
class Moment:
    """One reading in one release. why: how the story ended if it gave no such reading."""

    system: str
    value: Json = None
    why: str = ""
    is_unstable: bool = False
    is_changed: bool = False  # since the previous column of the same framework

    @property
    def is_there(self) -> bool:
        """Whether the reading was taken."""
        return not self.why


@dataclass(frozen=True, slots=True)
class Change:
    """A pull request that changed something between two releases."""

    first: str  # the first compared release that contains it
    pull: str  # owner/name#number
    what: str


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """The readings of one subject and probe at one stage. sentences: one per framework if something changed."""

    stage: str
    subject: str
    probe: str
    moments: tuple[Moment, ...]
    sentences: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether a reading changed between two releases."""
        return any(moment.is_changed for moment in self.moments)


@dataclass(frozen=True, slots=True)
class History:
    """A scenario's readings by release. Systems named `mini:...` are the engine, which imitates releases."""

    scenario: str
    title: str
    systems: tuple[SystemInfo, ...]
    rows: tuple[HistoryRow, ...]
    missing: tuple[str, ...] = ()  # atlas releases without a recording
    unrecorded: tuple[str, ...] = ()  # recordings that lack the scenario
