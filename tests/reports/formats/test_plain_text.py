"""`print(report)` shows what the command line prints, without colours."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import CLEAN, LEAKING, LOSSES
from fabricated_peaks import REPORT
from gradlife.model.device.memory import DeviceReport
from gradlife.model.heap import Cycle, HeapDiff, LargeObject, TypeChange
from gradlife.model.hunt import CALLED, StoredAt
from gradlife.model.trace import Lifetime
from gradlife.reports.formats.plain_text import plain_text
from gradlife.reports.hunt.first_screen import LINES


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_a_report_of_a_hunt_is_printed_as_the_command_prints_it() -> None:
    lines = str(LEAKING).splitlines()
    assert lines[0] == "LEAK  train.py grows by 65.5 kB per step over 21 steps"
    assert len(lines) <= LINES
    assert str(CLEAN).startswith("clean  train.py: nothing grew")
    assert repr(LEAKING) == "<HuntReport of train.py: leak, GL402>"
    assert repr(CLEAN) == "<HuntReport of train.py: clean, no finding>"


def test_all_of_a_report_is_printed_as_full_prints_it() -> None:
    lines = LEAKING.full().splitlines()
    assert lines[0].startswith("LEAK  ")
    assert any(line.startswith("Problem 1 of 1  GL402") for line in lines)
    assert lines[-1] == "LEAK: 1 leak of this program"
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in LEAKING.full()
    assert CLEAN.full().startswith("clean  train.py  nothing grew")


@pytest.mark.parametrize(
    ("called", "commands"),
    [
        ("hunt", ["To cut the reference: report.prove()", "Details: print(report.full())"]),
        ("watch", ["Details: gradlife.watch(on_report=lambda report: print(report.full()))"]),
    ],
)
def test_the_report_of_a_call_has_commands_that_can_be_typed_in_python(called: str, commands: list[str]) -> None:
    """They named a file that does not exist: `gradlife hunt --prove step ...`."""
    report = replace(LEAKING, settings={**LEAKING.settings, CALLED: called})
    assert str(report).splitlines()[-len(commands) :] == commands
    assert "gradlife hunt --prove" not in report.full()
    assert "gradlife explain GL402" in report.full()


def test_a_report_of_the_peak_is_printed_as_the_command_prints_it() -> None:
    assert str(REPORT) == plain_text(REPORT)
    assert str(REPORT).startswith("drag  train.py: peak of 122 MB on cpu")


def test_a_report_of_devices_is_printed_as_the_command_prints_it() -> None:
    assert str(DeviceReport("oom.pickle", ())) == "oom.pickle: the allocator holds no memory"


def test_a_finding_is_one_line_with_the_statement_that_stores() -> None:
    assert str(LOSSES) == f"{LOSSES.code} {LOSSES.title}"
    assert repr(LOSSES) == f"<Finding {LOSSES}>"
    stored = StoredAt("train.py", 14, "self.losses.append(loss)")
    assert str(replace(LOSSES, stored_at=stored)).endswith(": train.py:14: self.losses.append(loss)")


def test_the_values_of_a_heap_are_shown_in_a_line() -> None:
    """They were kilobytes of fields."""
    large = LargeObject("list", "python", "len 3", 1, 80, 1080, LOSSES.trace.steps)
    assert repr(large) == "<list len 3: 80 bytes, 1,080 retained>"
    assert repr(Cycle(2, 160, Lifetime.GC, False, ())) == "<Cycle : 2 objects, 160 bytes, gc>"
    assert repr(LOSSES.trace).startswith("<Trace of Tensor")
    change = TypeChange("list", "python", 2, 160, 0, 0, 0, 0)
    found = HeapDiff(True, (change,), ())
    assert repr(found) == "<HeapDiff: types 1, +160 bytes>"
    assert "+160 B" in str(found)


def test_another_value_has_no_text() -> None:
    with pytest.raises(TypeError, match="a list has no text"):
        plain_text([])
