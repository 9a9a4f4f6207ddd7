"""Counting the steps of a program with threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from gradlife.hunting.growth import suspects as growth
from gradlife.hunting.process.forked import CAN_FORK
from gradlife.hunting.session import method
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.snapshots import step_snapshots
from gradlife.hunting.steps.schedule import schedule_for


def test_steps_of_other_threads_count_while_one_thread_is_kept_for_a_look() -> None:
    """A service answers other requests meanwhile: what they leave belongs to these steps."""
    hunt = Hunt(schedule_for(40, is_endless=False))
    counter = Counter(hunt)

    def answer_others(steps: int, began: float, ended: float) -> None:
        for _ in range(3):
            assert not counter.step()

    hunt.on_snapshot = answer_others
    while not counter.step():
        pass
    hunt.close()
    assert [one.steps for one in hunt.snapshots] == [4, 4 + 3 + 5, 12 + 3 + 7, 22 + 3 + 19]
    assert hunt.steps == 44 + 3 + 5  # the round in which the collector rests has no such look


def test_steps_that_passed_while_the_plan_ran_belong_to_the_next_snapshot() -> None:
    """Where steps are time, as much as a snapshot took was missing in each round."""
    hunt = Hunt(schedule_for(40, is_endless=False))
    counter = Counter(hunt)
    taken = 0
    while not counter.step():
        if len(hunt.snapshots) > taken:  # a round begins
            taken = len(hunt.snapshots)
            counter.count_passed(3)
    hunt.close()
    assert [one.steps for one in hunt.snapshots] == [4, 4 + 3 + 5, 12 + 3 + 7, 22 + 3 + 19]


@pytest.mark.slow  # steps spin for as long as the copy takes: minutes on a busy machine
@pytest.mark.skipif(not CAN_FORK, reason="a copy of the process judges")
def test_a_service_takes_steps_while_a_copy_judges_a_round(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    judge, go = growth.find_suspects, tmp_path / "go"

    def wait_and_judge(*words: object) -> object:
        while not go.exists():
            time.sleep(0.01)
        return judge(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(method, "find_suspects", wait_and_judge)
    hunt = Hunt(replace(schedule_for(None, is_endless=False), may_end=False), keeps_serving=True)
    counter = Counter(hunt)
    steps = 0
    while not counter.step():
        steps += 1
        if steps == 1000:
            go.touch()
    hunt.close()
    assert (hunt.cut_short_by, hunt.steps > 1000) == ("", True)
    assert all(one.is_written() for one in hunt.snapshots)


@pytest.mark.skipif(not CAN_FORK, reason="a copy of the process judges")
def test_a_step_of_a_service_does_not_wait_for_a_report() -> None:
    lock, is_held, may_end = threading.RLock(), threading.Event(), threading.Event()

    def report() -> None:
        with lock:
            is_held.set()
            may_end.wait()

    hunt = Hunt(schedule_for(40, is_endless=False), keeps_serving=True)
    counter = Counter(hunt, lock)
    thread = threading.Thread(target=report)
    thread.start()
    is_held.wait()
    for _ in range(10):
        assert not counter.step()
    may_end.set()
    thread.join()
    for _ in range(4):
        counter.step()
    hunt.settle()
    counter.end()
    hunt.close()
    assert [one.steps for one in hunt.snapshots] == [14]


@pytest.mark.skipif(not CAN_FORK, reason="a copy of the process writes")
def test_a_snapshot_whose_writer_dies_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, may_die = os.pipe()

    def die(*words: object) -> int:
        copy = os.fork()
        if copy == 0:
            os.close(may_die)
            os.read(waits, 1)
            os._exit(1)
        return copy

    monkeypatch.setattr(step_snapshots, "_heap", SimpleNamespace(start_record=die))
    hunt = Hunt(schedule_for(40, is_endless=False), keeps_serving=True)
    counter = Counter(hunt)
    for _ in range(4):
        counter.step()
    assert len(hunt.snapshots) == 1
    os.close(may_die)
    hunt.settle()
    os.close(waits)
    counter.end()
    hunt.close()
    assert hunt.snapshots == []


#: The objects that the collector leaves alone while a service is hunted in, and afterwards.
SET_ASIDE = """\
import gc
from dataclasses import replace
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.schedule import schedule_for

hunt = Hunt(replace(schedule_for(None, is_endless=False), may_end=False), keeps_serving=True)
counter = Counter(hunt)
most = 0
while not counter.step():
    most = max(most, gc.get_freeze_count())
hunt.close()
print(most > 1000, gc.get_freeze_count(), hunt.cut_short_by)
"""


@pytest.mark.skipif(not CAN_FORK, reason="a copy of the process judges")
def test_the_collector_leaves_old_objects_alone_until_a_service_is_judged() -> None:
    done = subprocess.run([sys.executable, "-c", SET_ASIDE], capture_output=True, text=True, timeout=900)
    assert (done.stdout, done.stderr) == ("True 0 \n", "")
