"""Ranks of one run take the same steps, and snapshots after the same ones, whatever each of them sees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.schedule import Schedule, schedule_for

#: A schedule of few steps, with all kinds of rounds.
SHORT = Schedule(2, (2, 3, 4), (5, 6), (7,), recorded=3, collector=3, watched=3, may_end=True, in_step=True)


def snapshots_of(is_leaking: bool, schedule: Schedule, steps: int) -> tuple[list[int], int]:
    """The steps after which a rank taken, and those after which it knows enough."""
    hunt, taken, known, kept = Hunt(schedule), [], [], []
    hunt.on_snapshot = lambda step, began, ended: taken.append(step)
    hunt.on_known = lambda: known.append(hunt.steps)
    counter = Counter(hunt)
    for number in range(steps):
        kept += [lambda number=number: number] if is_leaking else []
        if counter.step():
            break
    hunt.close()
    return taken, known[0]


@pytest.mark.whole
def test_a_rank_that_leaks_takes_no_other_steps_than_one_that_does_not() -> None:
    leaking, clean = snapshots_of(True, SHORT, 200), snapshots_of(False, SHORT, 200)
    assert leaking[1] == clean[1] == 47
    assert set(clean[0]) < set(leaking[0])
    assert clean[0] == [2, 4, 7, 11]


@pytest.mark.whole
@pytest.mark.parametrize("steps", [20, 40, 80])
def test_so_many_steps_are_so_many_on_every_rank(steps: int) -> None:
    schedule = schedule_for(steps, is_endless=False, in_step=True)
    assert [snapshots_of(is_leaking, schedule, 100)[1] for is_leaking in (True, False)] == [steps, steps]


@pytest.mark.parametrize("is_endless", [True, False])
def test_a_rank_never_ends_a_round_early_for_its_clock(is_endless: bool) -> None:
    schedule = schedule_for(None, is_endless=is_endless, in_step=True)
    assert schedule.patience == float("inf")
    assert replace(schedule, in_step=False, patience=8.0) == schedule_for(None, is_endless=is_endless)
