"""What a process has after it was attached to many times: its objects, threads, descriptors and memory of before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attachable import needs_debugger
from benchmarks.attach.counting import Counts, before_and_after, counting
from gradlife.attach.client import Session, attach, connect
from gradlife.program.hunt.running import Terms

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gradlife attaches on Linux only")

#: Megabytes that malloc may keep more or less from one moment to the next.
SLACK = 2


def is_as_before(rounds: int, visit: Callable[[], None], ask: Callable[[], Counts]) -> bool:
    """Is the process after many visits as after the first ones, which import modules?"""
    before, after = before_and_after(rounds, visit, ask)
    assert after.objects - before.objects < rounds // 10 + 2
    assert (after.threads, after.descriptors) == (before.threads, before.descriptors)
    assert after.megabytes - before.megabytes < SLACK
    return True


def hunt_briefly(session: Session) -> None:
    session.hunt(Terms(seconds=0.0, step_on="__main__:step"), "gradlife attach 1", lambda progress: None)


@pytest.mark.whole
@pytest.mark.reuse
def test_hunts_by_the_door_leave_nothing(tmp_path: Path) -> None:
    def visit() -> None:
        with connect(str(tmp_path / "door")) as session:
            hunt_briefly(session)

    with counting(tmp_path, "door") as (_, ask):
        assert is_as_before(10, visit, ask)


@pytest.mark.slow
@needs_debugger
def test_two_hundred_visits_by_the_debugger_leave_nothing(tmp_path: Path) -> None:
    with counting(tmp_path) as (pid, ask):

        def visit() -> None:
            with attach(pid) as session:
                assert session.pid == pid

        assert is_as_before(200, visit, ask)
