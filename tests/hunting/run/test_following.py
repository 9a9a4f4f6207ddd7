"""Watching for long: a hunt that goes on, in rounds that grow longer by themselves."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gradlife.hunting.session.method import Hunt
from gradlife.hunting.steps.schedule import schedule_for
from gradlife.program.hunt import following
from gradlife.program.hunt.running import LONGEST, RunningHunt, Terms

#: Keeps a tensor of a step in a hundred, until a finding was told.
SLOW = """\
import threading, time
import gradlife
import gradlife.engine as torch

kept, told = [], threading.Event()

def step(number):
    if number % 100 == 0:
        kept.append(torch.ones(50))

def tell(finding):
    print(finding.code, finding.trace.steps[0].via)
    told.set()

with gradlife.watch(every=0.2, step_on="__main__:step", on_finding=tell, state="state") as watching:
    number = 0
    while not told.is_set():
        step(number)
        number += 1
        time.sleep(0.0005)
print(watching.report.verdict, watching.trouble or "no trouble", step.__name__, threading.active_count())
"""

#: A copy of the program takes steps, too.
FORKS = """\
import os, time
import gradlife

def step():
    pass

before = step
with gradlife.watch(every=60, step_on="__main__:step"):
    while step is before:
        time.sleep(0.01)
    if not os.fork():
        for _ in range(1000):
            step()
        os._exit(len(os.listdir("/proc/self/task")))
    _, status = os.wait()
print(os.waitstatus_to_exitcode(status), step is before)
"""

#: A hunt of a service up to its last look: has that one labels?
LAST_LOOK = """\
from dataclasses import replace
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.steps.schedule import schedule_for

hunt = Hunt(replace(schedule_for(None, is_endless=False), may_end=False), keeps_serving=True)
plan = hunt.plan()
while not hunt.early_snapshots and next(plan, None) is not None:
    hunt.goes_on = True
print(hunt.snapshots[-1].has_labels)
plan.close()
hunt.close()
hunt.forget()
"""


def output_of(source: str, folder: Path) -> str:
    (folder / "program.py").write_text(source)
    command = [sys.executable, "-W", "ignore", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.whole
def test_a_leak_of_one_step_in_a_hundred_is_told_once_and_the_program_is_left_as_it_was(tmp_path: Path) -> None:
    assert output_of(SLOW, tmp_path).splitlines() == [
        "GL512 global variable 'kept'",
        "leak no trouble step 1",
    ]
    assert len(json.loads((tmp_path / "state").read_text())["findings"]) == 1


@pytest.mark.whole
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no copies of processes here")
def test_a_copy_that_the_program_forks_is_not_watched(tmp_path: Path) -> None:
    assert output_of(FORKS, tmp_path) == "1 True\n"


def test_late_rounds_take_the_time_that_was_asked_for_and_a_day_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    hunt = RunningHunt("a service", "", Terms(), every=600.0)
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert hunt._late_length(1000) == 6000  # ten minutes at ten steps a second
    now = 100_000.0
    assert hunt._late_length(1_000_000) == 300_000  # 30 % of all so far
    now = 10_000_000.0
    assert hunt._late_length(100_000_000) == 10 * LONGEST


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no forked copies")
@pytest.mark.parametrize(("keeps_serving", "collections"), [(True, []), (False, [2])])
def test_a_late_look_stops_a_service_for_no_collection(keeps_serving: bool, collections: list[int]) -> None:
    """A collection of a million objects takes longer than the fork."""
    generations: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            generations.append(info["generation"])

    hunt = Hunt(schedule_for(None, is_endless=False), keeps_serving=keeps_serving)
    gc.disable()
    gc.callbacks.append(note)
    try:
        for _ in hunt._late_round():
            pass
    finally:
        gc.callbacks.remove(note)
        gc.enable()
        hunt.forget()
    assert generations == collections


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no forked copies")
def test_the_last_look_of_a_service_has_labels_while_old_objects_are_frozen(tmp_path: Path) -> None:
    """Another look for labels alone came after that, with a collection of all objects."""
    assert output_of(LAST_LOOK, tmp_path) == "True\n"


def test_nothing_is_measured_if_nobody_wants_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "look_now", lambda steps: pytest.fail("each measurement forks the process twice"))
    hunt = RunningHunt("a service", "", Terms(seconds=0.0), every=0.2)
    assert following.Follow(hunt, 0.2, lambda report: None).run().verdict == "inconclusive"


def test_a_function_that_nobody_called_through_its_module_is_named() -> None:
    """A web framework keeps the function itself; the report said only that no step was counted."""
    hunt = RunningHunt("a service", "gradlife attach 1", Terms(seconds=0.0, step_on="json:dumps"))
    assert hunt.run(lambda progress: None).limits == (
        "what grows: json:dumps was not called through its module; a caller that took the function earlier, such as a route of "
        "a web framework, is not heard → --step-on with a function that it calls",
    )
