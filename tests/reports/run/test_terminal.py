from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fabricated import SEVEN, STORY, TWIN, event, seven_systems, troubled
from gradlife.model import RunOk, RunReport, RunUnavailable, Totals
from gradlife.reports.run.run import print_report, print_timelines
from printing import printed, widest


def report_text(report: RunReport, width: int = 80, in_full: bool = False, ascii_only: bool = False) -> str:
    return printed(lambda console: print_report(console, report, in_full), width, ascii_only)


def part(text: str, title: str) -> list[str]:
    """The lines of the part that begins with a title, up to the next empty line."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(title))
    stop = next((number for number in range(start, len(lines)) if not lines[number]), len(lines))
    return lines[start + 1 : stop]


def test_systems_come_with_what_they_are_the_reference_first_and_its_imitation_beside_it() -> None:
    assert part(report_text(seven_systems()), "Systems") == [
        "  [1] torch             torch 2.13.0",
        "  [2] mini:torch-2.13   gradlife.engine 0.1.0",
        "  [3] mini:torch-1.1    gradlife.engine 0.1.0",
        "  [4] mini:torch-1.2    gradlife.engine 0.1.0",
        "  [5] mini:torch-1.10   gradlife.engine 0.1.0",
        "  [6] mini:oneflow-0.8  gradlife.engine 0.1.0",
        "  [7] mini:oneflow-0.9  gradlife.engine 0.1.0",
        "  on Python 3.11.7, Linux x86_64",
    ]


def test_the_matrix_has_a_row_a_story_and_a_verdict_a_system() -> None:
    assert part(report_text(seven_systems()), "When the subject") == [
        "                                   mini  mini   mini   mini  mini    mini",
        "                            torch  torch torch  torch  torch oneflow oneflow",
        "                            2.13.0 2.13  1.1    1.2    1.10  0.8     0.9",
        "─" * 76,
        "function_ownership",
        "  ctx_keeps_output +1 (ctx) gc     gc    never* never* gc    never*  never*",
        "wrapper_identity",
        "  grad_id                   ok     ok    ok*    ok*    ok    ok*     ok",
    ]


def test_words_and_marks_of_the_matrix_are_explained_if_they_occur() -> None:
    text = report_text(seven_systems())
    assert part(text, "in brackets")[1:] == [
        "gc     freed only by the cyclic collector",
        "never  not freed at all",
        "ok     no verdict in this story; its values are as declared",
        "+1     so many repaired twins, with nothing left to tell (rows of their own:",
        "       --stage-detail)",
        "*      differs from torch",
    ]
    legend = part(report_text(troubled()), "in brackets")
    assert "raised the story raised" in legend
    assert "crash  the process died amid the story" in legend
    assert "!      contradicts what the story declares" in legend


def test_a_twin_that_goes_wrong_gets_a_row_of_its_own() -> None:
    rows = part(report_text(troubled()), "When the subject")
    row = next(line for line in rows if "+ ctx_keeps_detached_" in line)
    assert row.split()[2:] == ["del", "del", "raised", "crash", "del", "del", "del"]


def test_in_full_every_twin_has_a_row() -> None:
    rows = part(report_text(seven_systems(), 120, in_full=True), "When the subject")
    assert [line.split()[:2] for line in rows if "+" in line] == [["+", "ctx_keeps_detached_output"]]


def test_a_suite_shows_the_rows_on_which_systems_disagree_with_long_values_below() -> None:
    assert part(report_text(seven_systems()), "wrapper_identity: where systems differ (2 rows)")[4:] == [
        "grad_id: x.grad read again and again",
        "  value     one id yes    yes   no*   no*   yes   no*     yes",
        "  value     error  none   none  (a)*  (a)*  none  (a)*    none",
        "    (a) RuntimeError: Expected a Tensor of type Variable but found an undefined",
        "      Tensor",
    ]


def test_a_suite_in_full_has_every_reading_under_its_stage() -> None:
    lines = part(report_text(seven_systems(), in_full=True), "function_ownership: every reading (10 rows)")
    assert [" ".join(line.split()[:2]) for line in lines[4:11]] == [
        "ctx_keeps_output: ctx",
        "at 'forward",
        "expiry ctx",
        "refcount ctx",
        "at 'output",
        "liveness ctx",
        "liveness y",
    ]


def test_a_suite_on_which_all_agree_is_left_out() -> None:
    report = seven_systems()
    alike = tuple(
        replace(run, readings=tuple(replace(one, value=1, status="") for one in run.readings)) for run in report.runs
    )
    assert "where systems differ (" not in report_text(replace(report, runs=alike))


def test_contradictions_come_with_what_was_declared_and_why() -> None:
    assert part(report_text(troubled()), "Contradictions") == [
        "  CONTRADICTED function_ownership/ctx_keeps_output on mini:torch-2.13",
        "    ctx, liveness at 'output dropped': declared gc, got never",
        "    declared because from 1.10 on it does",
    ]


def test_what_the_graph_said_wrongly_is_distinguished_from_what_a_story_declared_wrongly() -> None:
    report = troubled()
    wrong = replace(report.expectations[0], is_of_graph=True, declared="gc", got="never")
    text = report_text(replace(report, expectations=(wrong,)))
    assert part(text, "Disagreements") == [
        "  CONTRADICTED function_ownership/ctx_keeps_output on mini:torch-2.13",
        "    ctx at 'output dropped': never by the heap graph, gc as measured",
    ]
    assert "Contradictions" not in text


def test_sum_of_what_the_graph_said_is_reported_where_it_was_asked() -> None:
    report = seven_systems()
    assert "heap graph" not in report_text(report)
    totals = replace(report.totals, graph_judged=1200, graph_agrees=1199, graph_inconclusive=2)
    [line] = [line for line in report_text(replace(report, totals=totals)).splitlines() if "heap graph" in line]
    assert line == "  the heap graph judged 1,200 living subjects, 1,199 as measured; of 2 it could"


def test_one_contradiction_on_two_systems_is_reported_once() -> None:
    report = troubled()
    twice = (*report.expectations, replace(report.expectations[0], system="mini:torch-1.10"))
    lines = part(report_text(replace(report, expectations=twice)), "Contradictions")
    assert lines[:2] == [
        "  CONTRADICTED function_ownership/ctx_keeps_output on mini:torch-2.13,",
        "  mini:torch-1.10",
    ]
    assert len(lines) == 4


def test_a_declared_reading_that_was_never_taken_is_reported_as_such() -> None:
    report = troubled()
    lost = (replace(report.expectations[0], got=None, stage="", subject="cxt"),)
    lines = part(report_text(replace(report, expectations=lost)), "Contradictions")
    assert lines[1] == "    cxt, liveness: declared gc, but no such reading was taken"


def test_an_imitation_that_differs_from_its_release_is_distinguished_from_other_releases() -> None:
    assert part(report_text(troubled()), "Differences from") == [
        "  DIFFERS function_ownership/ctx_keeps_output on mini:torch-2.13",
        "    ctx, liveness at 'output dropped': never, in torch gc",
        "    y, liveness at 'output dropped': never, in torch gc",
    ]


def test_stories_that_did_not_end_come_with_the_reason_and_what_they_printed() -> None:
    assert part(report_text(troubled()), "Stories that") == [
        "  FAILED function_ownership/ctx_keeps_detached_output on mini:torch-1.1",
        "    ValueError: no (line 12)",
        "    printed last: about to",
        "    printed last: go wrong",
        "  CRASHED function_ownership/ctx_keeps_detached_output on mini:torch-1.2",
        "    killed by SIGSEGV",
    ]


def test_what_a_system_cannot_tell_is_gathered_by_reason() -> None:
    assert part(report_text(troubled()), "Not available") == [
        "  needs hooks: Pack and unpack hooks: 1 story on mini:oneflow-0.9",
    ]


def test_problems_beyond_the_first_are_counted() -> None:
    report = troubled()
    many = tuple(replace(report.expectations[0], scenario=f"suite/{number}") for number in range(30))
    lines = part(report_text(replace(report, expectations=many)), "Contradictions")
    assert sum("CONTRADICTED" in line for line in lines) == 25
    assert lines[-1] == "  and 5 more: --json FILE has them all"


def test_the_last_lines_sum_up() -> None:
    assert report_text(seven_systems()).splitlines()[-5:] == [
        "Totals",
        "  3 stories on 7 systems: 84 readings in 1.5 s; 5 differ between systems",
        "  mini:torch-2.13 against torch: 6 of 6 readings the same, no unexplained",
        "  difference, 0 explained",
        "  clean: 21 declarations met, 0 contradicted, 0 runs failed, 0 unavailable",
    ]
    assert report_text(troubled()).splitlines()[-1] == (
        "  FOUND: 20 declarations met, 1 contradicted, 2 runs failed, 1 unavailable"
    )


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("in_full", [False, True])
def test_no_line_is_wider_than_the_terminal_or_ends_with_blanks(width: int, in_full: bool) -> None:
    for report in (seven_systems(), troubled()):
        text = report_text(report, width, in_full)
        assert widest(text) <= width
        assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_a_terminal_that_knows_only_ascii_gets_only_ascii() -> None:
    assert report_text(troubled(), ascii_only=True).isascii()


def test_without_a_terminal_there_is_no_colour() -> None:
    assert "\x1b" not in report_text(troubled())


def test_colour_adds_nothing_but_colour() -> None:
    colored = printed(lambda console: print_report(console, troubled()), 80, color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == report_text(troubled())


def test_no_colour_is_unreadable_on_white_or_black() -> None:
    text = printed(lambda console: print_report(console, troubled(), True), 120, color=True)
    codes = {code for piece in text.split("\x1b[")[1:] for code in piece.partition("m")[0].split(";")}
    assert codes <= {"0", "1", "2", "31", "32", "35", "36"}


def test_nothing_run_at_all_is_no_clean_result() -> None:
    runs = tuple(RunUnavailable(TWIN.id, system.name, (), "", "needs x") for system in SEVEN)
    report = RunReport(SEVEN, (TWIN,), runs, "torch", (), Totals(7, 1, 7, unavailable=7))
    assert report.exit_status == 3
    assert report_text(report).splitlines()[-1] == "  could not tell: no story could run anywhere, 7 unavailable"


def test_systems_with_the_same_events_share_a_timeline() -> None:
    events = (event(1, "created", 7), event(2, "destroyed", 7))
    moved = tuple(replace(one, object=one.object + 100) for one in events)
    runs = (
        RunOk(STORY.id, "mini:torch-1.1", events=events),
        RunOk(STORY.id, "mini:torch-1.2", events=moved),
        RunOk(STORY.id, "mini:torch-2.13", events=events[:1]),
        RunOk(STORY.id, "torch"),
    )
    report = RunReport(SEVEN, (STORY,), runs, "torch")
    text = printed(lambda console: print_timelines(console, report))
    titles = [line for line in text.splitlines() if line.startswith(STORY.id)]
    assert titles == [f"{STORY.id} on mini:torch-1.1, mini:torch-1.2", f"{STORY.id} on mini:torch-2.13"]


def test_a_story_without_events_says_why() -> None:
    report = RunReport(SEVEN, (STORY,), (RunOk(STORY.id, "torch"),), "torch")
    text = printed(lambda console: print_timelines(console, report))
    assert text == f"{STORY.id}\n  no events were recorded: only the mini engine records any\n"
