"""C++ objects are counted at the moment of a snapshot, also in a service that takes steps while the snapshot is written."""

from __future__ import annotations

import time

import pytest

from gradlife.hunting.session import method
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.snapshots.native_objects import FAMILIES, MIN_SNAPSHOTS, Counted, Unreached
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.hunting.steps.schedule import schedule_for


class Steps:
    """Steps that each leave one C++ object behind."""

    done = 0

    def count(self) -> Counted:
        """Count the objects, slowly."""
        now = self.done
        time.sleep(0.02)
        return Counted(dict.fromkeys(FAMILIES, now), 0)


def compared(found: Counted, snapshot: StepSnapshot) -> Unreached:
    """Subtract one object for each step before the snapshot."""
    late = {family: number - snapshot.steps for family, number in found.counts.items()}
    return Unreached(snapshot.steps, late, 0)


@pytest.mark.parametrize("keeps_serving", [False, True])
def test_no_step_passes_between_a_snapshot_and_the_count_that_belongs_to_it(
    monkeypatch: pytest.MonkeyPatch, keeps_serving: bool
) -> None:
    """Steps between them passed for objects that native code never released (GL803)."""
    steps = Steps()
    monkeypatch.setattr(method, "counted", steps.count)
    monkeypatch.setattr(method, "unreached", compared)
    monkeypatch.setattr(method, "grows", lambda before, after: True)
    monkeypatch.setattr("gradlife.hunting.process.malloc_usage.Malloc.keeps_changing", True)
    hunt = Hunt(schedule_for(None, is_endless=True), keeps_serving=keeps_serving)
    try:
        for count in hunt.plan():
            steps.done += count
        assert len(hunt.natives) == MIN_SNAPSHOTS
        assert [one.counts for one in hunt.natives] == [dict.fromkeys(FAMILIES, 0)] * MIN_SNAPSHOTS
    finally:
        hunt.close()
        hunt.forget()
