"""Steps of equal time."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from gradlife.hunting.steps import intervals
from gradlife.hunting.steps.intervals import Intervals, is_any_importing


def test_an_import_of_another_thread_is_seen_while_it_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gates = ModuleType("gates")
    gates.begun, gates.end = threading.Event(), threading.Event()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gates", gates)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "imported_slowly.py").write_text("import gates\ngates.begun.set()\ngates.end.wait()\n")
    thread = threading.Thread(target=__import__, args=("imported_slowly",))
    thread.start()
    gates.begun.wait()
    try:
        assert is_any_importing()
    finally:
        gates.end.set()
        thread.join()
    assert not is_any_importing()
    del sys.modules["imported_slowly"]


def test_intervals_that_pass_while_a_snapshot_is_taken_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program went on meanwhile: on a busy machine it seemed to grow much in one round and little in another."""
    now, counts = [0.0], list[int]()

    def step(count: int) -> None:
        counts.append(count)
        now[0] += 0.55  # so long it takes
        if len(counts) == 2:
            steps.stop()

    monkeypatch.setattr(intervals, "time", SimpleNamespace(monotonic=lambda: now[0]))
    steps = Intervals(lambda name: step, lambda: -10.0)
    steps.start()
    steps.join()
    assert counts == [1, 4]
