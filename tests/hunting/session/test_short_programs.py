"""Programs that end before the usual rounds: the verdict comes from the spare snapshot of the warm-up."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("torch")

import torch

from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.schedule import MIN_ROUNDS, schedule_for
from gradlife.model.hunt import FindingKind, HuntVerdict
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


class Handler:
    """An object in a cycle with its method, and a tensor."""

    def __init__(self) -> None:
        self.x, self.handle = torch.ones(1000), self.keep

    def keep(self) -> None:
        """Nothing."""


def kind() -> None:
    """A class, which is in a cycle with itself, with a tensor at the address of the last one."""
    kept[:] = [type("Batch", (), {"x": torch.ones(1000)})]


@pytest.mark.parametrize("make", [Handler, kind])
def test_cycles_that_wait_for_the_collector_are_seen_in_the_last_steps(make: Callable[[], object]) -> None:
    report = hunted(schedule_for(None, is_endless=False, may_be_short=True), repeated(make, 13))
    assert (report.verdict, [one.kind for one in report.findings]) == (HuntVerdict.NEEDS_GC, [FindingKind.NEEDS_GC])


def test_a_program_that_ends_soon_after_a_snapshot_says_that_cycles_were_not_looked_for() -> None:
    report = hunted(schedule_for(None, is_endless=False, may_be_short=True), repeated(Handler, 12))
    assert report.limits[-1] == (
        "cycles that wait for the collector: the program ended before they were looked for; a longer run shows them"
    )


def test_garbage_of_one_step_is_none_of_each() -> None:
    made = itertools.count()

    def step() -> None:
        if next(made) == 10:
            Handler()

    report = hunted(schedule_for(None, is_endless=False, may_be_short=True), repeated(step, 13))
    assert report.verdict is HuntVerdict.CLEAN


def test_a_list_that_is_cut_when_it_is_too_long_is_no_chain_in_two_rounds() -> None:
    """Some steps leave one more than others: it was a leak that the list held in both rounds."""

    def step() -> None:
        kept.insert(0, torch.ones(3))
        if len(kept) > 4:
            holder[0] = kept[:3]
            kept[:] = holder[0]

    holder: list[list[object]] = [[]]
    report = hunted(schedule_for(None, is_endless=False, may_be_short=True), repeated(step, 12))
    assert report.verdict is HuntVerdict.CLEAN


def test_a_dict_that_got_most_of_its_keys_in_the_first_steps_still_fills() -> None:
    users: dict[int, object] = {}
    keys = iter([*range(17), 17, 1, 18, 2, 3, 4, 19, 5, 6, 7, 8])

    def step() -> None:
        for key in itertools.islice(keys, 17 if not users else 1):
            users.setdefault(key, torch.ones(3))

    report = hunted(schedule_for(None, is_endless=False, may_be_short=True), repeated(step, 12))
    assert report.verdict is HuntVerdict.CLEAN


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
