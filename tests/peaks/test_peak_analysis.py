"""Lag, drag and void of what is alive at the peak, and lifetimes replayed with storages freed at their last use."""

from __future__ import annotations

import pytest

from gradlife.model.peak.report import Owner, Use
from gradlife.peaks.analysis.savings import Replay, grouped
from gradlife.peaks.analysis.timeline import live_bytes, peak_operation
from gradlife.peaks.analysis.uses import gaps, use_at
from gradlife.peaks.recording.holders import Held, Holder
from gradlife.peaks.recording.lifetimes import before, within
from peak_recordings import recording, storage


def test_live_bytes_count_from_the_birth_to_the_death() -> None:
    live = live_bytes([storage(0, 10, 1, 3), storage(1, 5, None, None)], before(4))
    assert [live[within(at)] for at in range(4)] == [5, 15, 15, 5]


def test_the_first_of_several_peaks_is_taken() -> None:
    live = live_bytes([storage(0, 10, 1, 2), storage(1, 10, 3, 4)], before(5))
    assert peak_operation(live, 0, 5) == 1


@pytest.mark.parametrize(
    ("reads", "overwrites", "died", "use"),
    [
        ((1, 9), (), 10, Use.READ_LATER),
        ((9,), (), 10, Use.LAG),
        ((1,), (), 10, Use.DRAG),
        ((), (), 10, Use.VOID),
        ((1,), (), None, Use.UNREAD),
        ((1, 9), (8,), 10, Use.DRAG),  # what is read is not what was there
        ((1, 9), (9,), 10, Use.READ_LATER),  # one operation reads it and writes it
        ((1,), (3,), 10, Use.VOID),
        ((5,), (), 10, Use.READ_LATER),  # by the very operation at the peak
    ],
)
def test_use_of_what_is_alive_at_operation_5(
    reads: tuple[int, ...], overwrites: tuple[int, ...], died: int | None, use: Use
) -> None:
    assert use_at(storage(0, 10, 0, died, reads, overwrites), 5) is use


def test_gaps_are_between_the_last_read_and_the_end() -> None:
    assert list(gaps(storage(0, 10, 0, 9, (1, 3)))) == [(before(4), before(9))]
    assert list(gaps(storage(0, 10, 0, None, (1, 3)))) == []
    assert list(gaps(storage(0, 10, 0, 9, (1, 7), (5,)))) == [(before(2), before(5)), (before(8), before(9))]
    assert list(gaps(storage(0, 10, 2, 9))) == [(before(3), before(9))]


def held(number: int, text: str) -> dict[int, Held]:
    return {1000 + number: Held([Holder(Owner.NAMED, text)])}


def test_a_saving_is_the_new_peak_and_not_the_bytes() -> None:
    """Ninety bytes are freed at the peak, but the operation that makes them has a peak of its own."""
    dragged, work = storage(0, 90, 0, 6, (1,)), storage(1, 20, 4, 5, (4,))
    small = storage(2, 10, None, None)
    found = recording([dragged, work, small], [0, 10])
    replay = Replay(found, found.storages, 0, 10)
    [step] = replay.best_savings(grouped(found, [(dragged, Use.DRAG)], held(0, "local x")), within(4))
    assert (replay.peak, step.peak_after, step.saved) == (120, 100, 20)


def test_the_best_saving_comes_first_and_the_list_ends_when_enough_is_told() -> None:
    large, small, tiny = storage(0, 60, 0, 9, (1,)), storage(1, 30, 1, 9, (2,)), storage(2, 1, 2, 9, (3,))
    work = storage(3, 100, 5, 6, (5,))
    found = recording([large, small, tiny, work], [0, 10])
    replay = Replay(found, found.storages, 0, 10)
    held_all = held(0, "local large") | held(1, "local small") | held(2, "local tiny")
    groups = grouped(found, [(one, Use.DRAG) for one in (tiny, small, large)], held_all)
    steps = replay.best_savings(groups, within(5))
    assert [(one.group.holder.text, one.saved, one.peak_after) for one in steps] == [
        ("local large", 60, 131),
        ("local small", 30, 101),
    ]
    assert replay.lower_bound() == 100


def test_the_same_name_of_each_step_is_let_go_of() -> None:
    """The last step's output is there when this one's is made; both are freed at their last use."""
    outputs = [storage(number, 50, 10 * number + 2, 10 * number + 12, (10 * number + 3,)) for number in range(3)]
    work = storage(3, 40, 15, 16, (15,))
    found = recording([*outputs, work], [0, 10, 20, 30])
    for one in found.operations[2::10]:
        object.__setattr__(one, "frames", [("train.py", 2, "main")])
        object.__setattr__(one, "function", "mm")
    replay = Replay(found, found.storages, 10, 20)
    [step] = replay.best_savings(
        grouped(found, [(outputs[1], Use.DRAG)], held(1, "local out")),
        within(15),
    )
    assert (replay.peak, step.peak_after) == (90, 50)


def test_items_of_one_list_are_one_group() -> None:
    storages = [storage(number, 10, None, 9, (1,)) for number in range(3)]
    found = recording(storages, [0, 10])
    who = {1000 + number: Held([Holder(Owner.NAMED, f"local outs[{number}]")]) for number in range(3)}
    [group] = grouped(found, [(one, Use.DRAG) for one in storages], who)
    assert len(group.storages) == 3
