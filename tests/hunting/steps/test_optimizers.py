"""The optimizer whose firing is a step."""

from __future__ import annotations

import types
from collections.abc import Callable

from gradlife.hunting.steps.optimizers import OptimizerSteps, when_made


class Adam:
    pass


class SGD:
    pass


class Recorder:
    def __init__(self) -> None:
        self.begun: list[str] = []
        self.followed: list[str] = []
        self.steps = 0
        self.heard = OptimizerSteps(self.begin, self.go_on)

    def begin(self, name: str) -> Callable[[], object]:
        self.begun.append(name)
        return self.step

    def go_on(self, name: str) -> Callable[[], object]:
        self.followed.append(name)
        return self.step

    def step(self) -> None:
        self.steps += 1

    def fire(self, optimizer: object, times: int = 1) -> None:
        for _ in range(times):
            self.heard._fired(optimizer, (), {})


def test_one_optimizer_steps_once_it_is_known_to_live_on() -> None:
    recorder, only = Recorder(), Adam()
    recorder.fire(only, 10)
    assert recorder.begun == ["Adam.step"]
    assert recorder.steps == 6


def test_of_two_the_one_that_fires_less_often_takes_over() -> None:
    recorder, often, seldom = Recorder(), Adam(), SGD()
    for _ in range(12):
        recorder.fire(often, 5)
        recorder.fire(seldom)
    assert recorder.begun == ["Adam.step", "SGD.step"]


def test_two_that_fire_by_turns_count_once() -> None:
    recorder, first, second = Recorder(), Adam(), SGD()
    for _ in range(10):
        recorder.fire(first)
        recorder.fire(second)
    assert recorder.begun == ["Adam.step"]


def test_steps_that_do_not_count_are_told_with_their_optimizer() -> None:
    recorder, first, second = Recorder(), Adam(), SGD()
    others: list[object] = []
    recorder.heard.on_other_step = others.append
    recorder.fire(second)
    for _ in range(6):
        recorder.fire(first)
        recorder.fire(second)
    assert (recorder.begun, others) == (["SGD.step"], [id(first)] * 3)


def test_a_throw_away_optimizer_of_an_inner_loop_is_no_step() -> None:
    recorder, outer = Recorder(), SGD()
    for _ in range(20):
        inner = Adam()
        recorder.fire(inner, 3)
        del inner
        recorder.fire(outer)
    assert recorder.begun == ["SGD.step"]


def test_one_that_fires_no_more_makes_path_for_the_one_that_fires_now() -> None:
    recorder, first, second = Recorder(), Adam(), SGD()
    recorder.fire(first, 30)
    recorder.fire(second, 41)
    assert (recorder.begun, recorder.followed) == (["Adam.step"], ["SGD.step"])
    assert recorder.steps == 26 + 38


def test_steps_of_optimizers_that_are_made_for_each_trial_and_kept_all_count() -> None:
    recorder, kept = Recorder(), [Adam() for _ in range(20)]
    for one in kept:
        recorder.fire(one, 30)
    assert (recorder.begun, len(recorder.followed)) == (["Adam.step"], 19)
    assert recorder.steps == 26 + 27 * 19


def test_steps_of_optimizers_that_are_made_for_each_trial_and_dropped_all_count() -> None:
    recorder = Recorder()
    for _ in range(20):
        one = Adam()
        recorder.fire(one, 30)
        del one
    assert recorder.begun == ["Adam.step"]
    assert recorder.steps == 26 + 30 * 19


def test_an_outer_optimizer_with_long_inner_loops_begins_the_hunt_once() -> None:
    recorder, outer = Recorder(), SGD()
    recorder.fire(outer, 5)
    for _ in range(20):
        inner = Adam()
        recorder.fire(inner, 38)
        del inner
        recorder.fire(outer)
    assert recorder.begun == ["SGD.step"]


def test_an_optimizer_that_is_made_is_told_before_it_fires() -> None:
    made = []

    class Optimizer:
        def __init__(self, parameters: list[int]) -> None:
            self.parameters = parameters

    class Adam(Optimizer):
        def __init__(self, parameters: list[int]) -> None:
            super().__init__(parameters)

    when_made(types.SimpleNamespace(Optimizer=Optimizer), lambda: made.append(1))
    assert Adam([3]).parameters == [3]
    assert made == [1]


def test_optimizers_that_never_live_for_four_steps_count_together() -> None:
    recorder = Recorder()
    for _ in range(10):
        recorder.fire(Adam(), 3)
    assert recorder.begun == ["Adam.step"]
    assert recorder.steps >= 15


def test_many_living_optimizers_wait_until_one_of_them_lasts() -> None:
    recorder, living = Recorder(), [Adam() for _ in range(8)]
    for _ in range(3):
        for one in living:
            recorder.fire(one)
    assert recorder.begun == []


def test_optimizers_that_wait_in_a_cycle_for_the_collector_count_together() -> None:
    """An optimizer for each step that is not freed at once: 20 of 120 steps were counted, and a leak was missed."""
    recorder, waiting = Recorder(), []
    for _ in range(60):
        waiting.append(Adam())
        recorder.fire(waiting[-1])
    assert recorder.begun == ["Adam.step"]
    assert recorder.steps == 50


def test_an_outer_optimizer_replaces_throw_away_ones_that_wait_for_the_collector() -> None:
    recorder, outer, waiting = Recorder(), SGD(), []
    for _ in range(20):
        waiting.append(Adam())
        recorder.fire(waiting[-1], 3)
        recorder.fire(outer)
    assert (recorder.begun or recorder.followed)[-1] == "SGD.step"
    assert recorder.steps >= 16
