"""Ctrl-C while the last report is made."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradlife.hunting.process.settings import END, Settings, was_refused
from gradlife.program.hunt.child import HuntChild
from gradlife.program.last_report import GIVEN_UP, WAITS, undisturbed

HANDLERS = [signal.default_int_handler, signal.SIG_IGN]


@pytest.fixture(params=HANDLERS, ids=["python", "ignored"])
def handler(request: pytest.FixtureRequest) -> Iterator[object]:
    before = signal.signal(signal.SIGINT, request.param)
    yield request.param
    assert signal.signal(signal.SIGINT, before) is request.param


def interrupted(count: int) -> list[str]:
    """The parts of a report that are made when interrupts come."""
    made: list[str] = []
    with undisturbed():
        for number in range(count):
            signal.raise_signal(signal.SIGINT)
            made.append(str(number))
    return made


def test_one_more_interrupt_does_not_lose_the_report(handler: object, capsys: pytest.CaptureFixture[str]) -> None:
    """It ended with a traceback and without the report."""
    assert interrupted(1) == ["0"]
    assert capsys.readouterr().err == (f"{WAITS}\n" if handler is signal.default_int_handler else "")


def test_a_third_gives_it_up_with_one_line(handler: object, capsys: pytest.CaptureFixture[str]) -> None:
    is_heard = handler is signal.default_int_handler
    assert interrupted(2) == (["0"] if is_heard else ["0", "1"])
    assert capsys.readouterr().err == (f"{WAITS}\n{GIVEN_UP}\n" if is_heard else "")


@pytest.mark.parametrize("count", [1, 2])
def test_the_watching_process_is_told_of_a_report_that_was_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    child = HuntChild(Settings("main.py", folder=str(tmp_path)))

    def leave(moment: str, status: int | None, error: BaseException | None) -> None:
        assert (moment, status) == (END, 130)
        for _ in range(count):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(child, "leave", leave)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    child._leave_at_end(130, KeyboardInterrupt())
    signal.signal(signal.SIGINT, before)
    assert was_refused(str(tmp_path)) is (count == 2)
