"""The message of a failing test: at most twelve lines with what to change; runs and traces at -vv."""

from __future__ import annotations

from dataclasses import replace

from fabricated_hunts import LOSSES
from gradlife.model.hunt import Amounts, Patch, StoredAt
from gradlife.pytest_plugin.outcomes.messages import LINES, failure
from gradlife.pytest_plugin.outcomes.results import Checked, Entry, Run, Verdict

HEADLINE = "1 leak (held), 1 tensor and 65.5 kB a run: GL402 A list of losses keeps the graph of each  [7c1e09ab]"
STORED = StoredAt("train.py", 41, "self.history.append(loss)", "Run.step")
CHANGE = Patch("", ("self.history.append(loss)",), ("self.history.append(loss.item())",))
PATCHED = replace(LOSSES, stored_at=STORED, patch=CHANGE)


def checked(*entries: Entry) -> Checked:
    runs = tuple(Run(1, 2, 0) for _ in range(3))
    return Checked("t.py::test_step", "t.py:3", verdict=Verdict.LEAK, entries=entries, runs=runs)


def test_a_leak_is_told_with_its_line_its_change_and_its_path() -> None:
    assert failure(checked(Entry(PATCHED))).splitlines() == [
        HEADLINE,
        "",
        "1. run.history: A list of losses keeps the graph of each            GL402, major",
        "   train.py:41   self.history.append(loss)",
        "   - self.history.append(loss)",
        "   + self.history.append(loss.item())",
        "   module __main__ → run.history: list (20 items) → Tensor → MseLossBackward0",
        "",
        "Details: pytest -vv",
    ]


def test_reasons_for_counting_it_as_new_stand_above_the_last_line() -> None:
    lines = failure(checked(Entry(PATCHED, why="was allowed by the marker until 2020-01-01"))).splitlines()
    assert lines[-2:] == ["Note: was allowed by the marker until 2020-01-01", "Details: pytest -vv"]


def test_several_leaks_have_room_in_twelve_lines() -> None:
    entries = [Entry(PATCHED, why=f"reason {number}") for number in range(4)]
    lines = failure(checked(*entries)).splitlines()
    assert len(lines) == LINES
    assert [line[:2] for line in lines if line[:1].isdigit() and line[1] == "."] == ["1.", "2.", "3."]
    assert lines[0].startswith("4 leaks (held), ")


def test_runs_and_the_whole_trace_come_at_vv() -> None:
    short, whole = failure(checked(Entry(PATCHED)), 1), failure(checked(Entry(PATCHED)), 2)
    assert "counted run" not in short
    assert "counted run     " in whole
    assert "     item 17 of list (20 items), which is held by" in whole.splitlines()


def test_a_check_without_a_verdict_says_why() -> None:
    lost = Checked("t.py::test_step", verdict=Verdict.INCONCLUSIVE, trouble="a control was judged wrongly")
    assert failure(lost).strip() == "gradlife could not tell: a control was judged wrongly"


def test_a_rate_is_one_a_run() -> None:
    slow = replace(PATCHED, per_step=Amounts(tensors=2, bytes=8))
    assert failure(checked(Entry(slow))).startswith("1 leak (held), 2 tensors and 8 B a run: GL402 ")
