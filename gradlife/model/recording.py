"""A recording: what one system read in every scenario, kept as a file that travels."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.model.run import ScenarioRun
from gradlife.model.system import SystemInfo


@dataclass(frozen=True, slots=True)
class RecordedStory:
    """The run of one scenario in the recorded system, with the digest of the story at that time.

    outcomes: the endings of its runs, if they differ; `run` is then the most frequent one.
    """

    digest: str
    run: ScenarioRun
    outcomes: tuple[str, ...] = ()

    @property
    def scenario(self) -> str:
        """Return the id of the scenario."""
        return self.run.scenario


@dataclass(frozen=True, slots=True)
class Recording:
    """Readings of one system.

    `system.name` is the recording's own name, such as `torch-2.13.0`; `backend` is what it was recorded with; `recorded`
    is the day, as 2026-01-31; each story ran `rounds` times.
    """

    system: SystemInfo
    backend: str
    recorded: str
    rounds: int
    stories: tuple[RecordedStory, ...] = ()

    @property
    def unstable(self) -> int:
        """Readings on which the rounds did not agree."""
        return sum(not reading.is_stable for story in self.stories for reading in story.run.readings)
