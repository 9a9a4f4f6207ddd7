"""Line up what one scenario read in each recorded release, and say when it changed."""

from __future__ import annotations

import functools
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import groupby

from gradlife.backends.base import Backend
from gradlife.backends.mini import PREFIX as MINI, MiniBackend, profile_names
from gradlife.backends.recorded import PREFIX, missing_recordings, recording_names, release_order
from gradlife.backends.registry import get_backends
from gradlife.errors import UsageError
from gradlife.model.history import Change, History, HistoryRow, Moment
from gradlife.model.reading import INCONCLUSIVE, Reading, ReadingKey
from gradlife.model.run import ScenarioRun
from gradlife.model.story import ScenarioInfo
from gradlife.model.system import SystemInfo
from gradlife.probes import PROBES, is_comparable
from gradlife.runner.api import TIME_LIMIT, OnProgress, Plan, run_plan
from gradlife.runner.compare import same_value
from gradlife.runner.discover import discover
from gradlife.runner.selection import text_selector
from gradlife.scenario import matches

#: Profiles that imitate no release.
NO_RELEASE = ("broken-", "rejected-", "micrograd")


#: Probes that only the engine has.
OF_THE_ENGINE = {probe.name for probe in PROBES if probe.engine_only}


@dataclass(frozen=True, slots=True)
class KnownChange:
    """A pull request, the first release that has it, and the evidence."""

    framework: str
    first: str
    pull: str
    what: str
    source: str
    scenarios: str = ""

    def is_about(self, info: ScenarioInfo) -> bool:
        """Whether the scenario shows what it changed."""
        return self.pull in info.origin or matches(self.scenarios, info.id)

    def came_between(self, framework: str, before: str, after: str) -> bool:
        """Whether the later of two releases has it and the earlier does not."""
        return self.framework == framework and numbers(before) < numbers(self.first) <= numbers(after)


@functools.cache
def known_changes() -> tuple[KnownChange, ...]:
    """Return the pull requests whose effects are known."""
    text = resources.files(__package__).joinpath("changes.toml").read_text(encoding="utf-8")
    return tuple(KnownChange(**row) for row in tomllib.loads(text)["change"])


def history(
    name: str,
    systems: Sequence[str] = (),
    keyword: str = "",
    profiles: bool = False,
    every_stage: bool = False,
    on_progress: OnProgress | None = None,
) -> History:
    """Return the readings of one scenario by system, by default all recordings, oldest release first, then the
    profiles.
    """
    stories = discover([name])
    if len(stories) > 1:
        names = ", ".join(story.info.name for story in stories[:3])
        place = f"{name}::NAME with " if os.path.exists(name) else ""
        raise UsageError(f"{name} has {len(stories)} stories", f"{place}one of {names}, ...")
    backends = [*get_backends(systems or [PREFIX + each for each in recording_names()])]
    backends += [MiniBackend(profile) for profile in releases_imitated()] if profiles else []
    if not backends:
        raise UsageError("there is no recording", "gradlife history --profiles NAME, or gradlife record")
    backends.sort(key=column_order)
    runs = run_plan(Plan(stories, tuple(backends), TIME_LIMIT, ()), on_progress or (lambda progress: None))
    info, columns = stories[0].info, tuple(backend.describe() for backend in backends)
    rows = tuple(made_rows(info, columns, runs, every_stage))
    is_chosen = text_selector(keyword)
    chosen = tuple(row for row in rows if is_chosen(f"{row.probe} {row.subject}".lower()))
    if rows and not chosen:
        probes = " ".join(sorted({row.probe for row in rows}))
        raise UsageError(f"no reading of {info.name} matches {keyword!r}", f"a word of: {probes}")
    lacking = tuple(
        run.system for run in runs if run.outcome == "not available" and run.reason.startswith("not recorded")
    )
    return History(info.id, info.title, columns, chosen, () if systems else missing_recordings(), lacking)


def releases_imitated() -> tuple[str, ...]:
    """Return the profiles that imitate a release."""
    return tuple(name for name in profile_names() if not name.startswith(NO_RELEASE))


def column_order(backend: Backend) -> tuple[bool, tuple[int, str, tuple[int, ...]]]:
    """Sort releases before engine profiles; then by framework and release."""
    system = backend.describe()
    is_engine = system.name.startswith(MINI)
    version = system.profile if is_engine else f"{system.framework.rpartition('.')[2]}-{public(system.version)}"
    return is_engine, release_order(version)


def made_rows(
    info: ScenarioInfo, systems: Sequence[SystemInfo], runs: Iterable[ScenarioRun], every_stage: bool
) -> Iterator[HistoryRow]:
    """Yield a row for each subject and probe: the last stage at which releases differ, or else the last stage; or all
    stages.
    """
    by_system = {run.system: run for run in runs}
    keys = reading_keys(by_system[system.name] for system in systems)
    rows = [row_of(key, info, systems, by_system) for key in keys]
    probes = [probe.name for probe in PROBES]
    rows.sort(key=lambda row: probes.index(row.probe) if row.probe in probes else len(probes))
    if every_stage:
        yield from rows
        return
    chosen: dict[tuple[str, str], HistoryRow] = {}
    for row in rows:
        older = chosen.get((row.subject, row.probe))
        if older is None or row.is_changed or not older.is_changed:
            chosen[row.subject, row.probe] = row
    yield from chosen.values()


def reading_keys(runs: Iterable[ScenarioRun]) -> list[ReadingKey]:
    """Return the keys of readings that can be compared between systems, by stage."""
    found: dict[ReadingKey, None] = {}
    for run in runs:
        for reading in run.readings:
            if is_comparable(reading.probe, reading.subject) and reading.probe not in OF_THE_ENGINE:
                found.setdefault(reading.key)
    stages = list(dict.fromkeys(key.stage for key in found))
    return sorted(found, key=lambda key: stages.index(key.stage))


def row_of(
    key: ReadingKey, info: ScenarioInfo, systems: Sequence[SystemInfo], runs: dict[str, ScenarioRun]
) -> HistoryRow:
    """Build one row of the history."""
    moments: list[Moment] = []
    sentences: list[str] = []
    changes: list[Change] = []
    for (framework, _), group in groupby(systems, key=lambda one: (framework_of(one), one.name.startswith(MINI))):
        members = list(group)
        lines = list(with_changes(moment_of(key, system, runs[system.name]) for system in members))
        moments += lines
        if any(moment.is_changed for moment in lines):
            sentences.append(sentence(framework, members, lines))
            changes += changes_between(framework, members, lines, info)
    return HistoryRow(
        key.stage, key.subject, key.probe, tuple(moments), tuple(sentences), tuple(dict.fromkeys(changes))
    )


def framework_of(system: SystemInfo) -> str:
    """Return torch or oneflow; for a profile, the framework that it imitates."""
    return system.profile.partition("-")[0]


def release_of(system: SystemInfo) -> str:
    """Return the displayed release, 1.9.1; for a profile, its numbers."""
    return system.profile.partition("-")[2] if system.name.startswith(MINI) else public(system.version)


def public(version: str) -> str:
    """Return a version without its local label: 2.13.0 for 2.13.0+cpu."""
    return version.partition("+")[0]


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as a sort key."""
    return release_order(version)[2]


def moment_of(key: ReadingKey, system: SystemInfo, run: ScenarioRun) -> Moment:
    """Return the system's reading."""
    reading: Reading | None = next((one for one in run.readings if one.key == key), None)
    if reading is None:
        return Moment(system.name, why=run.reason or "no such reading")
    return Moment(system.name, reading.value, is_unstable=not reading.is_stable)


def with_changes(moments: Iterable[Moment]) -> Iterator[Moment]:
    """Yield the moments, marked where one differs from the last conclusive one."""
    last: Moment | None = None
    for moment in moments:
        if moment.is_unstable or (moment.is_there and moment.value == INCONCLUSIVE):
            yield moment
            continue
        is_same = last is None or (last.is_there, moment.is_there) == (False, False)
        is_same = is_same or (
            last is not None and last.is_there and moment.is_there and same_value(last.value, moment.value)
        )
        yield replace(moment, is_changed=not is_same)
        last = moment


def sentence(framework: str, systems: Sequence[SystemInfo], moments: Sequence[Moment]) -> str:
    """Format a history: `never` until 1.9.1, `gc` from 1.10.2 to 1.13.1, `never` from 2.9.1."""
    spans: list[tuple[Moment, list[str]]] = []
    for system, moment in zip(systems, moments, strict=True):
        if not spans or moment.is_changed:
            spans.append((moment, []))
        spans[-1][1].append(release_of(system))
    parts = []
    for number, (moment, releases) in enumerate(spans):
        parts.append(f"{words(moment)} {when(releases, number == 0, number == len(spans) - 1)}")
    engine = ", in the engine" if systems[0].name.startswith(MINI) else ""
    return f"{framework}{engine}: {', '.join(parts)}"


def when(releases: Sequence[str], is_first: bool, is_last: bool) -> str:
    """Describe a range of releases."""
    if is_first:
        return f"until {releases[-1]}"
    if is_last:
        return f"from {releases[0]}"
    return f"in {releases[0]}" if len(releases) == 1 else f"from {releases[0]} to {releases[-1]}"


def words(moment: Moment) -> str:
    """Format a value within a sentence."""
    if not moment.is_there:
        return "not there"
    value = moment.value
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"


def changes_between(
    framework: str, systems: Sequence[SystemInfo], moments: Sequence[Moment], info: ScenarioInfo
) -> Iterator[Change]:
    """Yield the pull request behind each change if known; none if several came in between."""
    for number, moment in enumerate(moments):
        if not moment.is_changed:
            continue
        before, after = release_of(systems[number - 1]), release_of(systems[number])
        came = [one for one in known_changes() if one.is_about(info) and one.came_between(framework, before, after)]
        if len(came) == 1:
            yield Change(after, came[0].pull, came[0].what)
