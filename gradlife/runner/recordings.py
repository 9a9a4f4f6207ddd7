"""Read stories from a recording, and make recordings of stories that ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gradlife.backends.base import Backend
from gradlife.backends.recorded import RecordedBackend
from gradlife.errors import UsageError
from gradlife.model.comparison import Status
from gradlife.model.reading import Reading, ReadingKey
from gradlife.model.recording import RecordedStory, Recording
from gradlife.model.run import RunFailed, RunOk, RunUnavailable, ScenarioRun
from gradlife.model.system import SystemInfo
from gradlife.runner.compare import same_value
from gradlife.runner.digest import digest_of
from gradlife.runner.discover import Story

#: Most stories named in an error about stories that do not match.
NAMED = 8


class MisfitError(UsageError):
    """A recording of stories that have changed since."""


def recorded_run(story: Story, backend: RecordedBackend) -> ScenarioRun:
    """Return the recorded run of a story; not available if it was not recorded."""
    kept = backend.stories.get(story.info.id)
    if kept is None:
        return RunUnavailable(story.info.id, backend.name, why=f"not recorded; {backend.renewal([story.info.name])}")
    readings = tuple(replace(reading, system=backend.name) for reading in kept.run.readings)
    return replace(kept.run, system=backend.name, readings=readings)


def check_fit(stories: Iterable[Story], backend: RecordedBackend) -> None:
    """Raise if the recorded stories have other code or other names than these."""
    stories = tuple(stories)
    digests = {story.info.id: digest_of(story.path, story.info) for story in stories}
    changed = [
        story.info.name
        for story in stories
        if story.info.id in backend.stories and backend.stories[story.info.id].digest != digests[story.info.id]
    ]
    if changed:
        raise misfit(backend, changed, "does not fit {} any more: the story was changed since")
    unknown = {digests[story.info.id]: story.info.name for story in stories if story.info.id not in backend.stories}
    here = {story.info.id for story in stories}
    renamed = [one for one in backend.stories.values() if one.digest in unknown and one.scenario not in here]
    if renamed:
        names = [unknown[one.digest] for one in renamed]
        raise misfit(backend, names, "has {} under another name: " + renamed[0].scenario)


def misfit(backend: RecordedBackend, names: Sequence[str], what: str) -> MisfitError:
    """Return the error for an outdated recording, with the command that renews it."""
    text = names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
    command = backend.renewal(names if len(names) <= NAMED else ())
    return MisfitError(f"{backend.name} {what.format(text)}", command)


def make_recording(
    stories: Sequence[Story],
    backend: Backend,
    rounds: Sequence[Sequence[ScenarioRun]],
    day: str,
    kept: Recording | None = None,
) -> Recording:
    """Make a recording of stories from several rounds; other kept stories of the same system stay in it."""
    system = replace(backend.describe(), name=recorded_name(backend))
    by_story = {
        story.info.id: [run for runs in rounds for run in runs if run.scenario == story.info.id] for story in stories
    }
    made = {
        story.info.id: recorded_story(by_story[story.info.id], digest_of(story.path, story.info), system.name)
        for story in stories
    }
    older = {story.scenario: story for story in kept.stories} if kept is not None else {}
    whole = sorted({**older, **made}.items())
    return Recording(system, backend_words(backend), day, len(rounds), tuple(story for _, story in whole))


def recorded_name(backend: Backend) -> str:
    """Return the name of a system's recording: `torch-2.13.0`, or `mini-torch-2.13` for an engine profile."""
    system = backend.describe()
    if ":" in system.name and "@" not in system.name:
        return system.name.replace(":", "-")
    return f"{system.framework.rpartition('.')[2]}-{system.version.partition('+')[0]}"


def backend_words(backend: Backend) -> str:
    """Return the backend's name without an interpreter's path, which differs between machines."""
    framework, at, interpreter = backend.name.partition("@")
    return f"{framework}@{recorded_name(backend)}" if at and "/" in interpreter else backend.name


def refuse_other_system(kept: Recording, system: SystemInfo, name: str, file: str) -> None:
    """Raise if a file holds readings of another system than the one to be recorded into it."""
    old, new = replace(kept.system, name=name, version=""), replace(system, name=name, version="")
    if kept.system.name != name or old != new:
        was, now = describe(kept.system), describe(replace(system, name=name))
        raise UsageError(f"{file} has readings of {was}, these would be of {now}", "all stories, or another file")


def describe(system: SystemInfo) -> str:
    """Describe a system in a few words."""
    return f"{system.name} (Python {system.python}, {system.platform})"


def recorded_story(runs: Sequence[ScenarioRun], digest: str, system: str) -> RecordedStory:
    """Merge several runs of a story: the most frequent ending, and the readings on which those runs agree."""
    outcomes = Counter(run.outcome for run in runs)
    usual = max(runs, key=lambda run: outcomes[run.outcome])
    alike = [readings_of(run) for run in runs if run.outcome == usual.outcome]
    readings = tuple(agreed(reading, alike, system) for reading in every_reading(alike))
    kept = replace(usual, system=system, output="", readings=readings)
    lines = tuple(sorted(outcomes)) if len(outcomes) > 1 else ()
    return RecordedStory(digest, bare(kept), lines)


def bare(run: ScenarioRun) -> ScenarioRun:
    """Return a run without details that change from run to run: times, traces, places in files."""
    if isinstance(run, RunOk):
        return replace(run, seconds=0.0, events=(), owners=(), graphs=())
    return replace(run, line=0, traceback="") if isinstance(run, RunFailed) else run


def readings_of(run: ScenarioRun) -> dict[ReadingKey, Reading]:
    """Return the readings of a run that can be compared with another run's."""
    return {reading.key: reading for reading in run.readings if reading.status != Status.NOT_COMPARED}


def every_reading(runs: Sequence[dict[ReadingKey, Reading]]) -> list[Reading]:
    """Return the keys of all readings, in the order of the run that has most of them."""
    fullest = max(runs, key=len)
    found = dict(fullest)
    for run in runs:
        for key, reading in run.items():
            found.setdefault(key, reading)
    return list(found.values())


def agreed(reading: Reading, runs: Sequence[dict[ReadingKey, Reading]], system: str) -> Reading:
    """Return the agreed value of a reading; with all values seen if runs disagree or some lack it."""
    values = [run[reading.key].value for run in runs if reading.key in run]
    distinct = [
        value for number, value in enumerate(values) if not any(same_value(value, old) for old in values[:number])
    ]
    is_stable = len(distinct) == 1 and len(values) == len(runs)
    seen = () if is_stable else tuple(sorted(distinct, key=repr))
    return replace(reading, system=system, value=distinct[0] if is_stable else seen[0], status="", reason="", seen=seen)
