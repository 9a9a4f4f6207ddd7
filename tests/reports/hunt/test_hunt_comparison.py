"""A hunt against that of an earlier report: what is new, what grows faster, what is gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import CLEAN, CYCLE, LEAKING, LOSSES, WAITING, hunt, rounds
from gradlife.model import hunt_codec
from gradlife.model.hunt import Amounts, ChangeKind, Finding, FindingKind, HuntReport, Severity
from gradlife.model.hunt_comparison import against
from gradlife.reports.formats.junit.hunt import hunt_junit
from gradlife.reports.formats.markdown.document import markdown_of
from gradlife.reports.hunt.first_screen import LINES, screen_lines


def compared(before: HuntReport, after: HuntReport) -> HuntReport:
    return against(after, before, "before.json")


def screen(before: HuntReport, after: HuntReport) -> list[str]:
    return [line.plain for line in screen_lines(compared(before, after), 120)]


def faster(by: float) -> Finding:
    rate = LOSSES.per_step
    return replace(LOSSES, per_step=replace(rate, objects=rate.objects * by, bytes=rate.bytes * by))


KEPT = replace(LOSSES, kind=FindingKind.RETAINED, per_step=Amounts(), survivors=4, retained_bytes=1000)


@pytest.mark.parametrize(
    ("before", "after", "kinds", "status"),
    [
        (CLEAN, CLEAN, [], 0),
        (LEAKING, LEAKING, ["as before"], 0),
        (CLEAN, LEAKING, ["new"], 1),
        (LEAKING, CLEAN, ["gone"], 0),
        (LEAKING, hunt(faster(1.3)), ["larger"], 1),
        (LEAKING, hunt(faster(1.2)), ["as before"], 0),
        (LEAKING, hunt(faster(0.5)), ["smaller"], 0),
        (hunt(KEPT), hunt(replace(KEPT, retained_bytes=2000)), ["larger"], 1),
        (hunt(LOSSES), hunt(LOSSES, CYCLE), ["new", "as before"], 1),
        (CLEAN, hunt(replace(LOSSES, severity=Severity.NOTE)), ["new"], 0),
        (CLEAN, hunt(WAITING), ["new"], 0),
    ],
)
def test_what_became_of_each_finding(before: HuntReport, after: HuntReport, kinds: list[str], status: int) -> None:
    report = compared(before, after)
    assert report.against is not None
    assert ([one.kind.value for one in report.against.changes], report.exit_status) == (kinds, status)


def test_the_severity_that_fails_a_hunt_decides() -> None:
    minor = replace(hunt(replace(LOSSES, severity=Severity.MINOR)), fail_on=Severity.MINOR)
    assert compared(CLEAN, minor).exit_status == 1
    spared = replace(minor, fail_on=Severity.MAJOR)
    assert compared(CLEAN, spared).exit_status == 0
    assert screen(CLEAN, spared)[0].endswith("1 new, compared with before.json; 1 is not counted (see --fail-on)")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (hunt(rounds=()), LEAKING, "not compared with before.json: the earlier hunt was inconclusive"),
        (
            replace(LEAKING, rounds=rounds(Amounts(tensors=1), 7)),
            LEAKING,
            "not compared with before.json: the earlier hunt has 1 rounds: a rate needs 2",
        ),
    ],
)
def test_hunts_that_cannot_be_compared(before: HuntReport, after: HuntReport, words: str) -> None:
    assert compared(before, after).exit_status == 3
    assert screen(before, after)[0].endswith(words)


def test_an_inconclusive_hunt_is_no_regression_and_no_clean_bill() -> None:
    assert compared(LEAKING, hunt(rounds=())).exit_status == 3


def test_the_first_screen_names_what_is_new() -> None:
    lines = screen(hunt(CYCLE), hunt(LOSSES, CYCLE))
    assert lines[0] == "REGRESSION  train.py: 1 new and 1 as before, compared with before.json"
    assert (
        lines[1] == "   new: GL402 run.history: A list of losses keeps the graph of each: 1 tensor and 65.5 kB a step"
    )
    assert lines[2].startswith("   as before: ")
    assert any(line.startswith("1. run.history") for line in lines)
    assert len(lines) <= LINES


def test_what_is_known_has_no_block_beside_what_is_new() -> None:
    assert sum(line.startswith(("1. ", "2. ")) for line in screen(hunt(CYCLE), hunt(LOSSES, CYCLE))) == 1


def test_nothing_then_and_nothing_now() -> None:
    lines = screen(CLEAN, CLEAN)
    assert lines[0] == "no regression  train.py: nothing leaks, and nothing did, compared with before.json"


def test_what_is_known_does_not_fail_in_junit() -> None:
    text = hunt_junit(compared(hunt(CYCLE), hunt(LOSSES, CYCLE)))
    assert text.count("<failure") == 1
    assert hunt_junit(compared(LEAKING, LEAKING)).count("<failure") == 0


def test_a_comparison_goes_through_json() -> None:
    report = compared(hunt(CYCLE), hunt(LOSSES))
    assert hunt_codec.loads(hunt_codec.dumps(report)) == report


def test_markdown_has_the_comparison_first() -> None:
    text = markdown_of(compared(hunt(CYCLE), hunt(LOSSES)))
    assert text.startswith("## gradlife: REGRESSION in `train.py`\n\n1 new and 1 gone, compared with before.json.\n")
    assert "### Compared with before.json\n\n- new: GL402 run.history: A list of losses" in text


def test_kinds_are_sorted_by_what_fails() -> None:
    report = compared(hunt(CYCLE), hunt(LOSSES))
    assert report.against is not None
    assert [one.kind for one in report.against.changes] == [ChangeKind.NEW, ChangeKind.GONE]
