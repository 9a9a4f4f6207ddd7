"""A report of a peak that cannot be written, or that nobody waits for any more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradlife.hunting.process.settings import END, Settings
from gradlife.hunting.session.step_counter import EnoughSteps
from gradlife.model.peak import codec
from gradlife.model.peak.report import PeakReport
from gradlife.peaks.session import PeakSession
from gradlife.program.peak.child import PeakChild
from gradlife.program.peak.parent import REPORT

FOUND = PeakReport("main.py", "SGD.step")


def test_a_report_that_cannot_be_written_is_said_once_and_the_program_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a full disk the error came out of the program's `optimizer.step()`."""
    folder = tmp_path / "file" / "below"
    folder.parent.touch()
    child = PeakChild(Settings("main.py", folder=str(folder)))
    for _ in range(2):
        child._write(FOUND)
    assert capsys.readouterr().err == (
        f"gradlife: error: the report cannot be written to {folder}: not a directory; the program goes on\n"
    )


class FailingSession(PeakSession):
    """Fails at each step, and at the end."""

    def step(self) -> bool:
        raise ValueError("a table is full")

    def conclude(self) -> None:
        raise ValueError("a table is full")


def test_an_error_of_the_recording_never_reaches_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradlife.program.peak.child.PeakSession", FailingSession)
    child = PeakChild(Settings("main.py", folder=str(tmp_path), steps=2))
    step = child._begin_again("SGD.step")
    step()
    with pytest.raises(EnoughSteps):
        step()
    child.leave(END, 0, None)
    report = codec.loads((tmp_path / REPORT).read_text())
    assert (report.trouble, report.script_status) == ("the recording itself failed: ValueError: a table is full", 0)


def test_a_report_outlives_the_process_that_waits_for_it(tmp_path: Path) -> None:
    gone, channel = os.pipe()
    os.close(gone)
    try:
        PeakChild(Settings("main.py", folder=str(tmp_path), channel=channel))._write(FOUND)
    finally:
        os.close(channel)
    assert codec.loads((tmp_path / REPORT).read_text()) == FOUND
