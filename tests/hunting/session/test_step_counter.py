"""Counting the steps of a program with threads."""

from __future__ import annotations

from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.step_counter import Counter
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
