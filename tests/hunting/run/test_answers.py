"""When an answer stays, and when better steps begin anew."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabricated_hunts import CLEAN, LOSSES, hunt, rounds
from gradlife.errors import EXIT_COULD_NOT_TELL
from gradlife.hunting.process.settings import ANSWER, END, Settings
from gradlife.hunting.session.interim_report import InterimReport
from gradlife.model import hunt_codec
from gradlife.model.hunt import Amounts, Finding, FindingKind, Severity
from gradlife.program.hunt.child import HuntChild, may_add
from gradlife.program.script import Ended

#: What each call of a function that loads data leaves in a list.
LOADED = replace(LOSSES, per_step=Amounts(objects=2, tensors=1, storages=1, bytes=256))


def confirmed(finding: Finding) -> HuntChild:
    """A hunt with a leak that sampled steps have shown long enough."""
    child = HuntChild(Settings("main.py"))
    child._stepped_by = "call of load"
    child._answered = hunt(finding)
    child._is_sampled = child._is_final = True
    return child


def test_an_optimizer_begins_anew_after_calls_that_filled_a_list_with_data() -> None:
    """A list of data that a plain loop loads was the verdict on the program, and its training was not hunted."""
    child = confirmed(LOADED)
    child._begin_again("SGD.step")
    assert (child._stepped_by, child._answered, child._earlier) == ("SGD.step", None, hunt(LOADED))
    assert child.counter is not None
    child.counter.end()


def test_graphs_that_calls_leave_are_more_than_data_and_stay_the_answer() -> None:
    child = confirmed(replace(LOSSES, per_step=Amounts(objects=4, tensors=1, graph_nodes=3)))
    assert child._begin_again("SGD.step")()
    assert child._stepped_by == "call of load"


def test_other_calls_do_not_replace_a_leak_that_calls_have_confirmed() -> None:
    child = confirmed(LOADED)
    assert child._begin_sampled("call of answer")()
    assert child._stepped_by == "call of load"


def test_what_steps_have_shown_is_the_answer_if_too_few_of_the_rarer_ones_follow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second optimizer that steps in every 40th step threw away a leak: could not tell."""
    child = HuntChild(Settings("main.py"))
    monkeypatch.setattr(child, "_leak_so_far", lambda: hunt(LOSSES))
    child._begin_rarer("SGD.step")
    assert child.counter is not None
    child.counter.step()
    assert child._report_while_running(0) == replace(hunt(LOSSES), script_status=0)
    child.counter.end()


@pytest.mark.parametrize(
    ("severity", "kind", "is_open"),
    [
        (Severity.MINOR, FindingKind.GROWTH, True),
        (Severity.NOTE, FindingKind.RETAINED, True),
        (Severity.MAJOR, FindingKind.GROWTH, False),
        (Severity.MAJOR, FindingKind.NEEDS_GC, True),
    ],
)
def test_only_a_leak_that_is_not_minor_ends_the_search_for_rarer_ones(
    severity: Severity, kind: FindingKind, is_open: bool
) -> None:
    found = replace(LOSSES, severity=severity, kind=kind)
    assert may_add(hunt(found, rounds=rounds(Amounts(), 7, 7, 7))) == is_open  # nothing else grows


def test_a_report_that_cannot_be_written_is_said_once_and_the_program_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a full disk the error came out of the program's `optimizer.step()`."""
    taken = tmp_path / "taken"
    taken.write_text("")  # where the folder should be
    child = HuntChild(Settings("main.py", folder=str(taken)))
    child._write(CLEAN, ANSWER)
    assert child._status(Ended(0)) == 0  # a later report may be written
    child.leave(END, 0, None)
    assert capsys.readouterr().err == (
        f"gradlife: error: the report cannot be written to {taken}: file exists; the program goes on\n"
    )
    assert [child._status(Ended(status)) for status in (0, 7)] == [EXIT_COULD_NOT_TELL, 7]


def test_a_report_outlives_the_process_that_waits_for_it(tmp_path: Path) -> None:
    gone, channel = os.pipe()
    os.close(gone)
    try:
        HuntChild(Settings("main.py", folder=str(tmp_path), channel=channel))._write(CLEAN, END)
    finally:
        os.close(channel)
    assert hunt_codec.loads((tmp_path / END).read_text()) == CLEAN


@pytest.mark.parametrize("has_steps", [True, False])
def test_a_failing_interim_report_does_not_reach_the_step_that_it_interrupts(has_steps: bool) -> None:
    left: list[str] = []

    def leave(moment: str, status: int | None, error: BaseException | None) -> None:
        left.append(moment)
        raise BrokenPipeError

    counter: Any = SimpleNamespace(interrupt=lambda errand: errand(), hurry=lambda: None, withdraw=lambda: True, left=0)
    request: Any = object.__new__(InterimReport)
    request._taker = SimpleNamespace(leave=leave, counter=counter if has_steps else None)
    request._take()
    assert left == ["interim"]
