"""Compare releases, recorded or installed, with the nearest profile of the mini engine."""

from __future__ import annotations

import functools
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib import resources

from gradlife.backends.base import Backend
from gradlife.backends.mini import MiniBackend, nearest_profile
from gradlife.backends.recorded import PREFIX, RecordedBackend, missing_recordings, recording_names
from gradlife.backends.registry import get_backends
from gradlife.model.comparison import MISSING, Comparison, Status
from gradlife.model.fidelity import Difference, FidelityReport, Nearness
from gradlife.model.report import RunReport
from gradlife.model.run import RunOk, ScenarioRun
from gradlife.runner.api import TIME_LIMIT, OnProgress, Plan, run_plan, select_stories
from gradlife.runner.compare import compare
from gradlife.scenario import matches

#: The probe of a difference between endings instead of readings.
ENDING = "ending"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some readings of some releases differ from their profile's. All fields but `because` are fnmatch patterns.

    there: the reading or the ending in the release.
    """

    on: str  # profiles, separated by spaces
    because: str
    scenario: str = "*"
    stage: str = "*"
    subject: str = "*"
    probe: str = "*"
    there: str = "*"

    def covers(self, profile: str, one: Difference) -> bool:
        """Whether this reason applies to the difference."""
        pairs = (
            (one.scenario, self.scenario),
            (one.stage, self.stage),
            (one.subject, self.subject),
            (one.probe, self.probe),
            (str(one.other), self.there),
        )
        return matches(self.on, profile) and all(fnmatchcase(text, pattern) for text, pattern in pairs)


@functools.cache
def reasons() -> tuple[Reason, ...]:
    """Return the reasons that apply to several stories. A reason for one story is in the story (`Differs`)."""
    text = resources.files(__package__).joinpath("reasons.toml").read_text(encoding="utf-8")
    return tuple(Reason(**row) for row in tomllib.loads(text).get("reason", ()))


def fidelity(
    paths: Sequence[str] = (),
    systems: Sequence[str] = (),
    keyword: str = "",
    on_progress: OnProgress | None = None,
    time_limit: float = TIME_LIMIT,
) -> FidelityReport:
    """Compare each of the systems, by default all recordings, with its nearest profile."""
    started = time.monotonic()
    releases = get_backends(systems or [PREFIX + name for name in recording_names()])
    stories = select_stories(paths, keyword)
    pairs = [(release, MiniBackend(nearest_profile(release))) for release in releases]
    minis = {mini.name: mini for _, mini in pairs}
    plan = Plan(stories, (*releases, *minis.values()), time_limit, ())
    runs = run_plan(plan, on_progress or (lambda progress: None))
    lines = tuple(nearness(release, minis[mini.name], runs, plan) for release, mini in pairs)
    missing = () if systems else missing_recordings()
    return FidelityReport(lines, missing, len(stories), round(time.monotonic() - started, 3))


def nearness(release: Backend, mini: MiniBackend, runs: Iterable[ScenarioRun], plan: Plan) -> Nearness:
    """Compare one release with its profile."""
    both = tuple(run for run in runs if run.system in (release.name, mini.name))
    systems = (mini.describe(), release.describe())
    scenarios = tuple(story.info for story in plan.stories)
    report = RunReport(systems, scenarios, compare(both, systems, scenarios, release.name), release.name)
    comparisons = [one for one in report.comparisons if one.status != Status.NOT_COMPARED]
    count = {status: sum(one.status is status for one in comparisons) for status in Status}
    differences = *differing(comparisons), *endings(report, mini.name, release), *one_sided(comparisons, report)
    return Nearness(
        system=systems[1],
        profile=mini.profile,
        equal=count[Status.SAME],
        comparable=count[Status.SAME] + count[Status.DIFFERS] + count[Status.EXPECTED],
        left_out=count[Status.NOT_AVAILABLE],
        unstable=count[Status.UNSTABLE],
        differences=tuple(explained(one, release.profile) for one in differences),
    )


def differing(comparisons: Iterable[Comparison]) -> Iterator[Difference]:
    """Yield the readings that differ."""
    for one in comparisons:
        if one.status in (Status.DIFFERS, Status.EXPECTED):
            yield Difference(*one.key, one.value, one.other, one.reason)


def endings(report: RunReport, mini: str, release: Backend) -> Iterator[Difference]:
    """Yield the stories that finished in one of the two only.

    Stories about the engine alone are skipped, and those for which some run of the recording ended like the engine's.
    """
    runs = {(run.scenario, run.system): run for run in report.runs}
    recorded = release.stories if isinstance(release, RecordedBackend) else {}
    for scenario in report.scenarios:
        mine, other = runs[scenario.id, mini], runs[scenario.id, release.name]
        seen = recorded[scenario.id].outcomes if scenario.id in recorded else ()
        if (
            mine.outcome not in (other.outcome, *seen)
            and "engine" not in scenario.needs.split()
            and not is_unrecorded(other)
        ):
            yield Difference(scenario.id, "", "", ENDING, ended(mine), ended(other))


def one_sided(comparisons: Iterable[Comparison], report: RunReport) -> Iterator[Difference]:
    """Yield the readings that only one of the two has, of stories that both finished."""
    result = Counter(run.scenario for run in report.runs if isinstance(run, RunOk))
    for one in comparisons:
        is_missed = one.value is MISSING or one.other is MISSING
        if is_missed and one.status is Status.NOT_AVAILABLE and result[one.key.scenario] == len(report.systems):
            value, other = (None if value is MISSING else value for value in (one.value, one.other))
            yield Difference(*one.key, value, other)


def is_unrecorded(run: ScenarioRun) -> bool:
    """Whether the story is missing from the recording."""
    return run.outcome == "not available" and run.reason.startswith("not recorded")


def ended(run: ScenarioRun) -> str:
    """Describe how a story ended."""
    return run.outcome + (f": {run.reason}" if run.reason else "")


def explained(one: Difference, profile: str) -> Difference:
    """Return the difference with its reason if known."""
    known = () if one.is_explained else (reason for reason in reasons() if reason.covers(profile, one))
    found = next(iter(known), None)
    return one if found is None else replace(one, reason=found.because)
