"""The first screen of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fabricated import LEAK, PLAIN, SEVEN, STORY, TORCH, compared, ownership_run, readings, seven_systems, troubled
from gradlife.model import RunOk, RunReport, ScenarioInfo, ScenarioRun
from gradlife.reports.run.release_differences import Release, choose, span
from gradlife.reports.run.summary import SCREEN, one_line, print_summary
from gradlife.reports.run.view import RunView
from printing import printed, widest


def many(count: int, report: RunReport | None = None, suites: int = 1) -> RunReport:
    """So many stories of each suite, each a copy of the first of a report."""
    report = report or seven_systems()
    stories = list(report.scenarios)
    runs = list(report.runs)
    for suite in range(suites):
        for number in range(count):
            story = replace(STORY, id=f"suite{suite}/story{number}", name=f"story{number}", suite=f"suite{suite}")
            stories.append(story)
            reference = ownership_run(story, "torch", LEAK[-1])
            for system, verdict in zip(SEVEN, LEAK, strict=True):
                run = ownership_run(story, system.name, verdict)
                runs.append(run if system is TORCH else compared(run, reference))
    return replace(report, scenarios=tuple(stories), runs=tuple(runs))


def summary(report: RunReport, width: int = 80) -> list[str]:
    return printed(lambda console: print_summary(console, report), width).splitlines()


def answering(story: ScenarioInfo, probe: str, values: dict[str, Any]) -> RunReport:
    """A report in which each system answers one question of one story."""
    runs: list[ScenarioRun] = []
    for system in SEVEN:
        if system.name in values:
            rows = [("end", "asked", probe, values[system.name])]
            runs.append(RunOk(story.id, system.name, readings(story, system.name, rows)))
    return RunReport(SEVEN, (story,), tuple(runs), "torch")


def statements(report: RunReport) -> list[tuple[str, ...]]:
    return [one.statements for one in choose(RunView(report), 12)[0]]


def test_a_short_report_is_shown_whole() -> None:
    lines = summary(seven_systems())
    assert lines[0] == "Systems"
    assert "When the subject of each story is freed" in lines


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("suites", [1, 30])
def test_a_long_report_is_one_screen_and_nothing_is_wider_than_it(width: int, suites: int) -> None:
    report = many(40, troubled(), suites)
    lines = summary(report, width)
    assert len(lines) <= SCREEN
    assert widest("\n".join(lines)) <= width


def test_the_first_screen_begins_with_what_ran_on_what() -> None:
    lines = summary(many(40))
    assert lines[:6] == [
        "3 stories on 7 systems: 84 readings in 1.5 s; 5 differ between systems",
        "  torch 2.13.0           torch",
        "  gradlife.engine 0.1.0  mini:torch-2.13, mini:torch-1.1, mini:torch-1.2,",
        "                         mini:torch-1.10, mini:oneflow-0.8, mini:oneflow-0.9",
        "  on Python 3.11.7, Linux x86_64",
        "",
    ]


def test_the_table_counts_the_stories_that_behave_as_the_release_does() -> None:
    lines = summary(many(40))
    start = lines.index("Stories that behave as in torch 2.13.0, of those that can be compared")
    assert [line.split() for line in lines[start + 5 : start + 9]] == [
        ["function_ownership", "2", "2/2", "1/2", "1/2", "2/2", "1/2", "1/2"],
        ["wrapper_identity", "1", "1/1", "0/1", "0/1", "1/1", "0/1", "1/1"],
        ["suite0", "40", "40/40", "0/40", "0/40", "40/40", "0/40", "0/40"],
        ["all", "suites", "43", "43/43", "1/43", "1/43", "43/43", "1/43", "2/43"],
    ]


def test_a_story_that_failed_does_not_behave_alike_and_one_that_was_not_available_is_not_counted() -> None:
    lines = summary(many(40, troubled()))
    [row] = [line.split() for line in lines if line.startswith("  wrapper_identity")]
    assert row == ["wrapper_identity", "1", "1/1", "0/1", "0/1", "1/1", "0/1", "-"]
    [row] = [line.split() for line in lines if line.startswith("  function_ownership")]
    assert row == ["function_ownership", "2", "1/2", "0/2", "0/2", "2/2", "1/2", "1/2"]


def test_systems_and_suites_without_room_are_counted() -> None:
    lines = summary(many(2, suites=40), 60)
    assert "  28 more suites, counted in the last row: --full" in lines
    assert "  1 more system: --full" in lines


def test_what_went_wrong_is_on_the_first_screen() -> None:
    lines = summary(many(40, troubled()))
    start = lines.index("  CONTRADICTED function_ownership/ctx_keeps_output on mini:torch-2.13")
    assert lines[start + 1 : start + 3] == [
        "    ctx, liveness at 'output dropped': declared gc, got never",
        "    declared because from 1.10 on it does",
    ]
    assert "  4 problems in all: --full" in lines


def test_the_first_screen_ends_with_the_verdict_and_how_to_see_more() -> None:
    assert summary(many(40))[-3:] == [
        "  clean: 21 declarations met, 0 contradicted, 0 runs failed, 0 unavailable",
        "  more: --full (every story), -k EXPR (some stories), --html FILE (drawings)",
        "        gradlife explain ctx_keeps_output (one story, stage by stage)",
    ]


def test_a_leak_of_some_releases_comes_first_and_stories_alike_share_its_line() -> None:
    lines = summary(many(40))
    start = lines.index("What differs most between releases")
    assert lines[start + 1 : start + 3] == [
        "  ctx keeps its own output: leaks up to torch 1.2 and in oneflow (41 stories)",
        "  x.grad read again and again: error raises RuntimeError up to torch 1.2 and...",
    ]


def test_what_the_other_releases_do_follows_where_it_fits() -> None:
    values = {"mini:torch-1.1": "never", "mini:torch-1.10": "gc", "mini:torch-2.13": "del"}
    [one] = choose(RunView(answering(STORY, "liveness", values)), 1)[0]
    assert one.statements == ("leaks up to torch 1.1", "waits for the collector in torch 1.10")
    text = "ctx keeps its own output: leaks up to torch 1.1, waits for the collector in torch 1.10"
    assert one_line(one, len(text)).plain == text
    assert one_line(one, len(text) - 1).plain == "ctx keeps its own output: leaks up to torch 1.1"


def test_a_value_is_reported_the_releases_that_are_unlike_the_reference() -> None:
    values = {"mini:torch-1.1": 1, "mini:torch-1.2": 2, "mini:torch-1.10": 1, "torch": 2}
    assert statements(answering(PLAIN, "value", values)) == [('"asked" is 1 in torch 1.1, 1.10',)]


def test_of_a_subject_beside_the_main_one_the_name_is_reported() -> None:
    runs = []
    for system, verdict in zip(SEVEN, LEAK, strict=True):
        rows = [("end", "ctx", "liveness", "del"), ("end", "the view", "liveness", verdict)]
        runs.append(RunOk(STORY.id, system.name, readings(STORY, system.name, rows)))
    [found] = statements(RunReport(SEVEN, (STORY,), tuple(runs), "torch"))
    assert found[0] == '"the view" leaks up to torch 1.2 and in oneflow'


def test_answers_that_are_alike_or_unsure_are_no_difference() -> None:
    values = {"mini:torch-1.1": "inconclusive", "mini:torch-1.2": "del", "torch": "del"}
    assert statements(answering(STORY, "liveness", values)) == []


def test_a_changed_profile_is_named_in_full() -> None:
    report = answering(STORY, "liveness", {"mini:torch-1.1": "never", "torch": "del"})
    systems = tuple(
        replace(one, name=one.name + "+hooks=extra") if one.name == "mini:torch-1.1" else one for one in SEVEN
    )
    runs = tuple(
        replace(run, system=run.system.replace("1.1", "1.1+hooks=extra"),
                readings=tuple(replace(one, system=one.system.replace("1.1", "1.1+hooks=extra")) for one in run.readings))
        for run in report.runs
    )  # fmt: skip
    assert statements(replace(report, systems=systems, runs=runs)) == [("leaks in mini:torch-1.1+hooks=extra",)]


@pytest.mark.parametrize(
    ("these", "text"),
    [
        (["1.1", "1.2"], "up to torch 1.2"),
        (["1.10", "2.13"], "from torch 1.10 on"),
        (["1.2"], "in torch 1.2"),
        (["1.1", "1.2", "1.10", "2.13"], "in torch"),
    ],
)
def test_releases_are_named_by_as_few_words_as_the_known_ones_allow(these: list[str], text: str) -> None:
    known = [Release("torch", version) for version in ("1.1", "1.2", "1.10", "2.13")]
    assert span("torch", [one for one in known if one.version in these], known) == text


def test_a_leak_costs_more_than_another_answer_however_many_stories_give_it() -> None:
    report = many(1)
    view = RunView(report)
    ranks = [(one.story.name, one.price) for one in choose(view, 12)[0]]
    assert ranks == [("ctx_keeps_output", 8), ("grad_id", 1)]
