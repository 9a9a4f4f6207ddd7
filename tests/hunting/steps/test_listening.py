"""Which of the steps that torch lets one hear count, and when better ones take their place."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from gradlife.hunting.steps.backward_passes import WARMUP_PASSES
from gradlife.hunting.steps.batches import WARMUP_BATCHES
from gradlife.hunting.steps.listening import MANY, QUIET, QUIET_PAUSES, QUIET_WITHOUT_ANSWER, TorchSteps
from gradlife.hunting.steps.optimizers import WARMUP_STEPS
from gradlife.hunting.steps.sampling import Sampling


class SGD:
    pass


class Adam:
    pass


class Torch:
    """A program that uses torch, and the names of the steps that are counted."""

    def __init__(self) -> None:
        self.counted: list[str] = []
        self.begun: list[str] = []
        self.begun_rarer: list[str] = []
        self.followed: list[str] = []
        self.has_answer = False
        self.heard = TorchSteps(self.begin, self.go_on, Sampling(), WARMUP_PASSES, lambda: self.has_answer)
        self.autograd = types.SimpleNamespace(_engine_run_backward=lambda: None)
        self.heard.begin_rarer = self.begin_rarer
        self.heard.count_others_in_pauses()
        self.heard.passes.attach(self.autograd)

        class Batches:
            def __next__(self) -> int:
                return 1

        self.loader: Any = Batches()
        self.heard.batches.attach(types.SimpleNamespace(_BaseDataLoaderIter=Batches))
        self.optimizer: object = SGD()

    def begin(self, name: str) -> Callable[[], object]:
        self.begun.append(name)
        return lambda: self.counted.append(name)

    def begin_rarer(self, name: str) -> Callable[[], object]:
        self.begun_rarer.append(name)
        return self.begin(name)

    def go_on(self, name: str) -> Callable[[], object]:
        self.followed.append(name)
        return lambda: self.counted.append(name)

    def answered(self) -> None:
        """From now on the steps so far have given an answer."""
        self.has_answer = True

    def take(self, batches: int) -> None:
        for _ in range(batches):
            next(self.loader)

    def run_backward(self, passes: int = 1) -> None:
        for _ in range(passes):
            self.autograd._engine_run_backward()

    def train(self, steps: int, batches: int = 1) -> None:
        """As a loop with an optimizer: some batches and passes for each of its steps."""
        for _ in range(steps):
            for _ in range(batches):
                self.take(1)
                self.run_backward()
            self.heard.optimizers._fired(self.optimizer, (), {})


def test_an_optimizer_takes_the_place_of_batches_that_have_given_an_answer() -> None:
    """A pass that computed a mean was the verdict on the training after it: no further step was counted."""
    torch = Torch()
    torch.take(250)
    torch.answered()
    torch.counted.clear()
    torch.train(20)
    assert torch.begun == ["batch of a DataLoader", "SGD.step"]
    assert torch.counted[-10:] == ["SGD.step"] * 10


def test_batches_stay_the_steps_of_a_hunt_with_an_answer_if_many_of_them_make_one_step_of_the_optimizer() -> None:
    torch = Torch()
    torch.train(3, batches=40)
    torch.answered()
    torch.train(3, batches=40)
    assert torch.begun == ["batch of a DataLoader"]
    assert len(torch.counted) == 6 * 40 - 1 - WARMUP_BATCHES


def test_without_an_answer_the_optimizer_counts_however_many_batches_it_takes() -> None:
    torch = Torch()
    torch.train(WARMUP_STEPS + 3, batches=4 * MANY)
    assert torch.begun == ["batch of a DataLoader", "SGD.step"]
    assert torch.counted[-3:] == ["SGD.step"] * 3


def test_steps_that_come_less_often_among_those_so_far_are_told_from_a_later_phase() -> None:
    """What the steps so far had shown was thrown away."""
    torch = Torch()
    torch.train(WARMUP_STEPS + 3, batches=4 * MANY)
    assert torch.begun_rarer == ["SGD.step"]
    later = Torch()
    later.take(100)
    later.train(20)
    assert (later.begun_rarer, later.begun[-1]) == ([], "SGD.step")
    often, rarely = later.optimizer, Adam()
    for _ in range(WARMUP_STEPS):
        later.optimizer = often
        later.train(5)
        later.optimizer = rarely
        later.train(1)
    assert later.begun_rarer == ["Adam.step"]


def test_an_optimizer_that_never_steps_does_not_hide_backward_passes() -> None:
    """One `LBFGS.step` with thousands of closures, or a program that uses only `autograd.grad` beside an optimizer."""
    torch = Torch()
    torch.heard._expect_steps()
    torch.run_backward(QUIET + 11)
    assert torch.begun == ["backward pass"]
    assert torch.counted == ["backward pass"] * 10


def test_passes_of_a_phase_after_the_training_go_on_with_a_hunt_that_has_an_answer() -> None:
    torch = Torch()
    torch.heard._expect_steps()
    torch.train(150)
    torch.answered()
    torch.counted.clear()
    torch.run_backward(QUIET + 11)
    assert (torch.followed, torch.counted) == (["backward pass"], ["backward pass"] * 10)


def test_batches_of_an_evaluation_between_two_epochs_count_only_where_the_pause_is_far_longer_than_before() -> None:
    torch = Torch()
    torch.train(150)
    torch.answered()
    torch.take(QUIET + 20)
    assert torch.followed == ["batch of a DataLoader"]
    torch.train(30)
    torch.counted.clear()
    torch.take(QUIET_PAUSES * QUIET)
    assert torch.counted == []
    torch.train(5)
    assert torch.counted == ["SGD.step"] * 5


def test_a_hunt_without_an_answer_waits_longer_for_the_next_step_of_its_optimizer() -> None:
    torch = Torch()
    torch.train(20)
    torch.take(QUIET_WITHOUT_ANSWER - 10)
    assert torch.followed == []
    torch.take(30)
    assert torch.followed == ["batch of a DataLoader"]
