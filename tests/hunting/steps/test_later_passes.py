"""Passes through modules after the last training step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gradlife.hunting.steps.later_passes import QUIET, QUIET_PAUSES, LaterPasses

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.fixture
def heard() -> Iterator[tuple[LaterPasses, list[int]]]:
    rounds: list[int] = []
    passes = LaterPasses(rounds.append, lambda: rounds.append(-1))
    yield passes, rounds
    passes.stop()


Heard = tuple[LaterPasses, list[int]]


def passed(times: int) -> None:
    """A pass through a module in a module is one pass."""
    net = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Identity())
    for _ in range(times):
        net(0)


def test_passes_after_the_last_training_step_have_rounds_that_get_longer(heard: Heard) -> None:
    passes, rounds = heard
    passed(QUIET)
    passes.note_training_step()
    passed(QUIET + 70)
    assert (rounds, passes.number) == ([100, 130, 169], 170)


def test_before_any_training_none_are_counted(heard: Heard) -> None:
    passes, rounds = heard
    passed(2 * QUIET)
    assert (rounds, passes.number) == ([], 0)


def test_an_evaluation_in_each_epoch_is_no_phase_of_its_own(heard: Heard) -> None:
    passes, rounds = heard
    for _ in range(3):
        passes.note_training_step()
        passed(QUIET + 10)
    assert rounds == [QUIET, -1]
    passed((QUIET_PAUSES - 1) * (QUIET + 10))
    assert rounds == [QUIET, -1, QUIET_PAUSES * (QUIET + 10)]


def test_a_model_that_raises_is_counted_once(heard: Heard) -> None:
    passes, _ = heard
    passes.note_training_step()
    for _ in range(3):
        with pytest.raises(NotImplementedError):
            torch.nn.Sequential(torch.nn.Module())(0)
    assert passes.number == 3


def test_modules_are_called_as_before_once_it_stops(heard: Heard) -> None:
    passes, rounds = heard
    passes.note_training_step()
    passes.stop()
    passed(2 * QUIET)
    assert (rounds, passes.number) == ([], 0)
