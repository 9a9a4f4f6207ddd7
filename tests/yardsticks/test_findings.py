"""Every measurement on the releases from before there were stories shows in `gradlife history`, or has a reason why
not.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from gradlife.backends.mini import MiniBackend
from gradlife.backends.recorded import ATLAS, RecordedBackend, recording_names
from gradlife.model import ScenarioRun, SystemInfo
from gradlife.model.history import HistoryRow
from gradlife.model.reading import INCONCLUSIVE, Json
from gradlife.runner.api import TIME_LIMIT, Plan, run_plan, select_stories
from gradlife.runner.discover import Story
from gradlife.runner.history import column_order, made_rows
from gradlife.runner.recordings import recorded_run

#: The releases that were measured before there were stories, in the order of the table.
MEASURED = tuple(name for name in ATLAS if name not in {"torch-2.12.1", "torch-2.14.1", "torch-2.15.0"})

TABLE = Path(__file__).with_name("findings.toml")
VERDICTS = ("never", "gc", "del")


@dataclass(frozen=True)
class Finding:
    """One row of the table."""

    probe: str
    what: str
    measured: list[str]
    scenario: str = ""
    subject: str = ""
    reading: str = ""
    stage: str | None = None
    but: str = ""
    why_not: str = ""

    def told_of(self, system: str) -> str:
        """Return the measurement on a release; empty if there is none, or if the story differs there."""
        return "" if system in self.but else self.measured[MEASURED.index(system)]


FINDINGS = [Finding(**row) for row in tomllib.loads(TABLE.read_text("utf-8"))["finding"]]
SHOWN = [finding for finding in FINDINGS if not finding.why_not]
by_finding = pytest.mark.parametrize("finding", SHOWN, ids=lambda one: f"{one.probe}: {one.what}")


@cache
def stories() -> dict[str, Story]:
    """The built-in stories by name."""
    return {story.info.name: story for story in select_stories((), "")}


@cache
def recordings() -> list[RecordedBackend]:
    """Return the releases of the atlas that are present."""
    return [RecordedBackend(name) for name in recording_names() if name in MEASURED]


def rows_of(
    finding: Finding, systems: Sequence[SystemInfo], runs: Sequence[ScenarioRun]
) -> tuple[HistoryRow, HistoryRow]:
    """The row of a finding at its stage, or the last one, and the row that `gradlife history` shows."""
    info = stories()[finding.scenario].info

    def chosen(every_stage: bool) -> list[HistoryRow]:
        rows = made_rows(info, systems, runs, every_stage)
        return [row for row in rows if (row.subject, row.probe) == (finding.subject, finding.reading)]

    every = [row for row in chosen(True) if finding.stage in (None, row.stage)]
    return every[-1], chosen(False)[0]


def columns(finding: Finding, systems: Sequence[str], row: HistoryRow) -> Iterator[list[tuple[str, str, Json]]]:
    """For each framework: release, what was measured, and what the story read, where there are both."""
    for framework in ("torch", "oneflow"):
        seen = [
            (name, finding.told_of(name), moment.value)
            for name, moment in zip(systems, row.moments, strict=True)
            if name.startswith(framework) and moment.is_there and not moment.is_unstable
        ]
        yield [one for one in seen if one[1] and one[2] != INCONCLUSIVE]


def judge(finding: Finding, systems: Sequence[str], row: HistoryRow, shown: HistoryRow) -> None:
    """The story changes where the measurement does, and has its verdicts; if it does, history shows a change."""
    for result in columns(finding, systems, row):
        if finding.reading == "liveness":
            assert [value for _, value, _ in result] == [value for _, _, value in result]
        changes = [one[0] for old, one in pairwise(result) if old[1] != one[1]]
        seen = [one[0] for old, one in pairwise(result) if form(old[2]) != form(one[2])]
        assert seen == changes
        assert shown.is_changed or not changes


def form(value: Json) -> str:
    """A value to compare; all errors are one."""
    is_error = isinstance(value, str) and "Error" in value.partition(":")[0] + value * value.startswith("'")
    return "error" if is_error else json.dumps(value)


def test_every_finding_is_shown_by_a_story_or_says_why_not() -> None:
    assert len(FINDINGS) == 107
    assert len(SHOWN) == 97
    for finding in FINDINGS:
        assert len(finding.measured) == len(MEASURED)
        assert bool(finding.scenario and finding.subject and finding.reading) != bool(finding.why_not)
        assert not finding.scenario or finding.scenario in stories()


def test_every_verdict_that_is_never_is_shown() -> None:
    assert [finding for finding in FINDINGS if "never" in finding.measured and finding.why_not] == []
    assert sum("never" in finding.measured for finding in FINDINGS) == 40


@by_finding
def test_the_recordings_show_it(finding: Finding) -> None:
    backends = recordings()
    runs = [recorded_run(stories()[finding.scenario], backend) for backend in backends]
    row, shown = rows_of(finding, [backend.describe() for backend in backends], runs)
    judge(finding, [backend.recording.system.name for backend in backends], row, shown)


@pytest.mark.slow
def test_the_profiles_show_each_of_them() -> None:
    names = sorted({finding.scenario for finding in SHOWN})
    profiles = {MiniBackend(name.rpartition(".")[0]): name for name in MEASURED}
    backends = sorted(profiles, key=column_order)
    chosen = tuple(stories()[name] for name in names)
    runs = run_plan(Plan(chosen, tuple(backends), TIME_LIMIT, ()), lambda progress: None)
    for finding in SHOWN:
        of_story = [run for run in runs if run.scenario == stories()[finding.scenario].info.id]
        row, shown = rows_of(finding, [backend.describe() for backend in backends], of_story)
        judge(finding, [profiles[backend] for backend in backends], row, shown)
