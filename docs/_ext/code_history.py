"""The verdicts of each release in the recordings, for the pages of the codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlife.backends.recorded import PREFIX, recording_names
from gradlife.backends.registry import get_backends
from gradlife.model.history import HistoryRow, Moment
from gradlife.model.run import ScenarioRun
from gradlife.runner.api import TIME_LIMIT, Plan, run_plan
from gradlife.runner.discover import Story
from gradlife.runner.history import column_order, made_rows, release_of

LIVENESS = "liveness"


@dataclass(frozen=True)
class Verdicts:
    """A subject's verdict by release, and the changes between releases."""

    subject: str
    verdicts: tuple[tuple[str, str], ...]  # release, verdict
    sentences: tuple[str, ...]
    changes: tuple[str, ...]


def verdicts_by_story(stories: Sequence[Story]) -> dict[str, tuple[Verdicts, ...]]:
    """Read the verdicts of each story, by its id. It takes seconds to read ten recordings."""
    backends = [*get_backends([PREFIX + name for name in recording_names()])]
    backends.sort(key=column_order)
    runs: dict[str, list[ScenarioRun]] = {story.info.id: [] for story in stories}
    for run in run_plan(Plan(tuple(stories), tuple(backends), TIME_LIMIT, ()), lambda progress: None):
        runs[run.scenario].append(run)
    systems = tuple(backend.describe() for backend in backends)
    names = [f"{system.framework.rpartition('.')[2]} {release_of(system)}" for system in systems]
    return {
        story.info.id: tuple(verdicts(made_rows(story.info, systems, runs[story.info.id], False), names))
        for story in stories
    }


def verdicts(rows: Iterator[HistoryRow], names: Sequence[str]) -> Iterator[Verdicts]:
    """Yield the liveness rows of a story."""
    for row in rows:
        if row.probe == LIVENESS:
            by_release = tuple(zip(names, map(word, row.moments), strict=True))
            changes = tuple(f"{change.first}: {change.pull}, {change.what}" for change in row.changes)
            yield Verdicts(row.subject, by_release, row.sentences, changes)


def word(moment: Moment) -> str:
    """Return a verdict, or `-` if there is none."""
    return str(moment.value) if moment.is_there else "-"
