"""Programs that end before the usual rounds: the verdict comes from the spare snapshot of the warm-up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

import torch

from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.schedule import MIN_ROUNDS, schedule_for
from gradlife.model.hunt import HuntVerdict
from script_hunts import hunted, repeated

kept: list[object] = []


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    yield
    kept.clear()


def keep() -> None:
    """A loss with its graph."""
    kept.append(torch.ones(3, requires_grad=True).sum())


@pytest.mark.whole
@pytest.mark.parametrize(("steps", "rounds"), [(8, [4, 3]), (12, [4, 7]), (13, [5, 3])])
def test_a_short_script_leaks_by_two_rounds_and_says_how_many_steps_are_missing(steps: int, rounds: list[int]) -> None:
    report = hunted(schedule_for(None, is_endless=False, may_be_short=True), repeated(keep, steps))
    assert (report.verdict, [one.code for one in report.findings]) == (HuntVerdict.LEAK, ["GL402"])
    assert [one.steps for one in report.rounds] == rounds
    assert report.more_steps == 23 - sum(rounds)


def test_a_short_script_that_keeps_nothing_is_clean_with_its_controls_right() -> None:
    report = hunted(
        schedule_for(None, is_endless=False, may_be_short=True),
        repeated(lambda: torch.ones(3, requires_grad=True).sum(), 12),
    )
    assert (report.verdict, report.more_steps) == (HuntVerdict.CLEAN, 12)
    assert [one.is_right for one in report.controls] == [True, True, True, True]


def test_six_counted_steps_are_too_few() -> None:
    report = hunted(schedule_for(None, is_endless=False, may_be_short=True), repeated(keep, 6))
    assert (report.verdict, report.trouble) == (
        HuntVerdict.INCONCLUSIVE,
        "only 6 steps were seen: too few to tell growth from warming up",
    )


@pytest.mark.whole
def test_twelve_steps_that_were_asked_for_tell_by_rounds_of_three() -> None:
    report = hunted(schedule_for(12, is_endless=False), repeated(keep, 12))
    assert (report.verdict, [one.steps for one in report.rounds]) == (HuntVerdict.LEAK, [3, 3, 5])


def test_the_spare_snapshot_is_given_up_once_there_are_rounds_enough() -> None:
    hunt = Hunt(schedule_for(None, is_endless=False, may_be_short=True))
    counter = Counter(hunt)
    steps = 1 + sum((hunt.schedule.warmup, *hunt.schedule.rounds[:MIN_ROUNDS])) - 1
    for _ in range(steps - 1):
        counter.step()
    assert hunt.spare is not None
    counter.step()
    assert hunt.spare is None
    hunt.close()


def test_one_step_that_was_asked_for_is_too_few() -> None:
    """There are no rounds in it, and the hunt failed with an IndexError."""
    report = hunted(schedule_for(1, is_endless=False), repeated(keep, 1))
    assert (report.verdict, report.trouble) == (
        HuntVerdict.INCONCLUSIVE,
        "only 1 step was seen: too few to tell growth from warming up",
    )
