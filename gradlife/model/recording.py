"""A recording: the readings of one system in every scenario, as a portable file."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.model.run import ScenarioRun
from gradlife.model.system import SystemInfo


@dataclass(frozen=True, slots=True)
class RecordedStory:
    """The run of one scenario in the recorded system, and the digest of the story then.

    outcomes: the endings of its runs if they differ; `run` has the most frequent one.
    """

    digest: str
    run: ScenarioRun
    outcomes: tuple[str, ...] = ()

    @property
    def scenario(self) -> str:
        """The id of the scenario."""
        return self.run.scenario


@dataclass(frozen=True, slots=True)
class Recording:
    """The readings of one system.

    `system.name` is the recording's own name, such as `torch-2.13.0`; `backend` is the backend that was recorded;
    `recorded` is the day, as 2026-01-31; each story ran `rounds` times.
    """

    system: SystemInfo
    backend: str
    recorded: str
    rounds: int
    stories: tuple[RecordedStory, ...] = ()

    @property
    def unstable(self) -> int:
        """Readings on which the rounds disagree."""
        return sum(not reading.is_stable for story in self.stories for reading in story.run.readings)
