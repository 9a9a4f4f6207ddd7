"""`print(report)` shows what the command line prints, without colours."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import CLEAN, LEAKING, LOSSES
from fabricated_peaks import REPORT
from gradlife.model.device.memory import DeviceReport
from gradlife.model.hunt import StoredAt
from gradlife.reports.formats.plain_text import plain_text


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_a_report_of_a_hunt_is_printed_as_the_command_prints_it() -> None:
    lines = str(LEAKING).splitlines()
    assert lines[0].startswith("LEAK  ")
    assert any(line.startswith("Problem 1 of 1  GL402") for line in lines)
    assert lines[-1] == "LEAK: 1 leak of this program"
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in str(LEAKING)
    assert str(CLEAN).startswith("clean  train.py  nothing grew")


def test_a_report_of_the_peak_is_printed_as_the_command_prints_it() -> None:
    assert str(REPORT) == plain_text(REPORT)
    assert str(REPORT).startswith("drag  train.py: peak of 122 MB on cpu")


def test_a_report_of_devices_is_printed_as_the_command_prints_it() -> None:
    assert str(DeviceReport("oom.pickle", ())) == "oom.pickle: the allocator holds no memory"


def test_a_finding_is_one_line_with_the_statement_that_stores() -> None:
    assert str(LOSSES) == f"{LOSSES.code} {LOSSES.title}"
    stored = StoredAt("train.py", 14, "self.losses.append(loss)")
    assert str(replace(LOSSES, stored_at=stored)).endswith(": train.py:14: self.losses.append(loss)")


def test_another_value_has_no_text() -> None:
    with pytest.raises(TypeError, match="a list has no text"):
        plain_text([])
