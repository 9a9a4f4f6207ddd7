"""Snapshots after the last training step."""

from __future__ import annotations

import pytest

from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import with_kept_results
from gradlife.hunting.snapshots import later_snapshots
from gradlife.hunting.steps.schedule import schedule_for
from gradlife.model.hunt import HuntReport


def test_a_snapshot_that_fails_does_not_reach_the_program_and_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error was printed as unraisable, and the report knew nothing of it."""

    def fail(*_: object, **__: object) -> None:
        raise OSError("no descriptor is free")

    hunt = Hunt(schedule_for(None, is_endless=False))
    monkeypatch.setattr(later_snapshots, "take_snapshot", fail)
    hunt.later.look(130)
    report = with_kept_results(hunt, HuntReport("train.py", "SGD.step", 5, (), ()), range(0), 130, None)
    assert report.limits == ("a snapshot after the last step failed: OSError",)
    assert hunt.later.snapshots == ()
