"""Lag, drag and void of what is alive at the peak, and lifetimes replayed with storages freed at their last use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gradlife.model.peak.report import Owner, PeakReport, ProcessMemory, Use
from gradlife.peaks.analysis.checkpoints import prefixes
from gradlife.peaks.analysis.groups import grouped
from gradlife.peaks.analysis.holder_snapshots import HolderSnapshot, HolderSnapshots
from gradlife.peaks.analysis.judge import Judge, Recorded
from gradlife.peaks.analysis.releases import release
from gradlife.peaks.analysis.retained import needless_retain
from gradlife.peaks.analysis.savings import Replay
from gradlife.peaks.analysis.scouting import scout_peaks
from gradlife.peaks.analysis.timeline import live_bytes, main_device, peak_operation
from gradlife.peaks.analysis.uses import gaps, use_at
from gradlife.peaks.recording.holders import MAX_HOLDERS, Held, Holder, Search
from gradlife.peaks.recording.lifetimes import (
    OPTIMIZER,
    Operation,
    Recording,
    Storage,
    merge_shared,
    tick_before,
    tick_within,
)
from gradlife.peaks.recording.variables import Kind
from peak_recordings import recording, storage


def test_live_bytes_count_from_the_birth_to_the_death() -> None:
    live = live_bytes([storage(0, 10, 1, 3), storage(1, 5, None, None)], tick_before(4))
    assert [live[tick_within(at)] for at in range(4)] == [5, 15, 15, 5]


def test_the_first_of_several_peaks_is_taken() -> None:
    live = live_bytes([storage(0, 10, 1, 2), storage(1, 10, 3, 4)], tick_before(5))
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
    assert list(gaps(storage(0, 10, 0, 9, (1, 3)))) == [(tick_before(4), tick_before(9))]
    assert list(gaps(storage(0, 10, 0, None, (1, 3)))) == []
    assert list(gaps(storage(0, 10, 0, 9, (1, 7), (5,)))) == [
        (tick_before(2), tick_before(5)),
        (tick_before(8), tick_before(9)),
    ]
    assert list(gaps(storage(0, 10, 2, 9))) == [(tick_before(3), tick_before(9))]


def snapshot(operation: int, **names: list[Storage]) -> HolderSnapshot:
    """Names of a function of the program that hold storages at one moment."""
    held: dict[int, Held] = {}
    for name, storages in names.items():
        for one in storages:
            holder = Holder(Owner.NAMED, f"local {name}", Kind.LOCAL, name, "nowhere.py", "step")
            held.setdefault(one.address, Held()).holders.append(holder)
    return HolderSnapshot(operation, held)


def savings(found: Recording, *snapshots: HolderSnapshot, first: int = 0, end: int = 10) -> list[tuple[str, int, int]]:
    """Each saving's name, what it saves after those before it, and the peak that is left."""
    replay = Replay(found, found.storages, first, end)
    steps = replay.best_savings(
        grouped(found, found.storages, HolderSnapshots(found, snapshots, found.steps.index(first)), first, end)
    )
    return [(one.group.holder.name, one.saved, one.peak_after) for one in steps]


def test_a_saving_is_the_new_peak_and_not_the_bytes() -> None:
    """Ninety bytes are freed at the peak, but the operation that makes them has a peak of its own."""
    dragged, work = storage(0, 90, 0, 6, (1,)), storage(1, 20, 4, 5, (4,))
    found = recording([dragged, work, storage(2, 10, None, None)], [0, 10])
    assert Replay(found, found.storages, 0, 10).peak == 120
    assert savings(found, snapshot(4, x=[dragged])) == [("x", 20, 100)]


def test_the_best_saving_comes_first_and_the_list_ends_when_enough_is_told() -> None:
    large, small, tiny = storage(0, 60, 0, 9, (1,)), storage(1, 30, 1, 9, (2,)), storage(2, 1, 2, 9, (3,))
    work = storage(3, 100, 5, 6, (5,))
    found = recording([large, small, tiny, work], [0, 10])
    told = savings(found, snapshot(5, tiny=[tiny], small=[small], large=[large]))
    assert told == [("large", 60, 131), ("small", 30, 101)]
    assert Replay(found, found.storages, 0, 10).lower_bound() == 100


def test_the_same_name_of_each_step_is_let_go_of() -> None:
    """The last step's output is there when this one's is made; both are freed at their last use."""
    outputs = [storage(number, 50, 10 * number + 2, 10 * number + 12, (10 * number + 3,)) for number in range(3)]
    work = storage(3, 40, 15, 16, (15,))
    found = recording([*outputs, work], [0, 10, 20, 30])
    for one in found.operations[2::10]:
        object.__setattr__(one, "frames", [("train.py", 2, "main")])
        object.__setattr__(one, "function", "mm")
    assert savings(found, snapshot(15, out=[outputs[1]]), first=10, end=20) == [("out", 40, 50)]


def test_a_second_peak_behind_the_first_is_weighed_with_its_own_holders() -> None:
    """Two storages, each unused at one of two peaks: letting go of the higher one alone saves little."""
    high, low = storage(0, 60, 0, 4, (1,)), storage(1, 50, 4, 9, (5,))
    works = [storage(2, 100, 3, 4, (3,)), storage(3, 100, 7, 8, (7,))]
    found = recording([high, low, *works], [0, 10])
    assert savings(found, snapshot(3, high=[high]), snapshot(7, low=[low])) == [("high", 10, 150), ("low", 50, 100)]


def test_two_peaks_of_one_height_are_told_together() -> None:
    one, other = storage(0, 60, 0, 4, (1,)), storage(1, 60, 4, 9, (5,))
    works = [storage(2, 100, 3, 4, (3,)), storage(3, 100, 7, 8, (7,))]
    found = recording([one, other, *works], [0, 10])
    assert savings(found, snapshot(3, one=[one]), snapshot(7, other=[other])) == [("one", 0, 160), ("other", 60, 100)]


def test_what_two_names_hold_is_free_when_both_let_go() -> None:
    both = storage(0, 60, 0, 9, (1,))
    found = recording([both, storage(1, 100, 5, 6, (5,))], [0, 10])
    [group] = grouped(found, found.storages, HolderSnapshots(found, [snapshot(5, logits=[both], out=[both])], 0), 0, 10)
    assert [one.name for one in group.holders] == ["logits", "out"]


def test_items_of_one_list_are_one_group() -> None:
    storages = [storage(number, 10, None, 9, (1,)) for number in range(3)]
    found = recording(storages, [0, 10])
    [group] = grouped(found, storages, HolderSnapshots(found, [snapshot(5, outs=storages)], 0), 0, 10)
    assert len(group.storages) == 3


def test_what_nobody_can_let_go_of_is_no_saving() -> None:
    unused = storage(0, 60, 0, 9, (1,))
    found = recording([unused, storage(1, 100, 5, 6, (5,))], [0, 10])
    held = {unused.address: Held([Holder(Owner.TEMPORARY, "an argument of what step calls")])}
    assert savings(found, HolderSnapshot(5, held)) == []


def test_an_edit_lets_go_after_the_statement_that_uses_it_last(tmp_path: Path) -> None:
    """Line 2 begins a call that goes on to line 4; a function that it calls uses the storage in its second operation."""
    file = tmp_path / "train.py"
    file.write_text("def step(x):\n    y = work(\n        x,\n    )\n    z = y\n")
    frames = [("step", 1), ("step", 3), ("step", 3), ("step", 2), ("step", 5)]
    operations = [Operation("op", [(str(file), line, name)], "", False) for name, line in frames]
    found = Recording(operations, [], [0, 5])
    assert release(found, [Holder(Owner.NAMED, "", Kind.LOCAL, "x", str(file), "step")], 1) == 4
    assert release(found, [Holder(Owner.NAMED, "", Kind.LOCAL, "x", str(file), "other")], 1) == 2


def test_an_edit_lets_go_at_the_end_of_the_call_that_used_it_last(tmp_path: Path) -> None:
    """A wrapper that runs twice in a row has two frames, although both are at the same line."""
    file = tmp_path / "train.py"
    file.write_text("def timed(f, *a):\n    return f(*a)\ndef step(x):\n    out = timed(x)\n    timed(out)\n")
    stacks = [[(str(file), 2, "timed"), (str(file), line, "step")] for line in (4, 4, 5, 5)]
    found = Recording([Operation("op", stack, "", False) for stack in stacks], [], [0, 4])
    assert release(found, [Holder(Owner.NAMED, "", Kind.LOCAL, "a", str(file), "timed")], 0) == 2


def test_a_graph_that_a_pass_of_the_same_line_reads_is_retained_rightly(tmp_path: Path) -> None:
    """A loop over heads of one trunk: the advice was to retain nothing once, which ends the program."""
    file = tmp_path / "train.py"
    file.write_text("def step(h):\n    for head in heads:\n        head(h).backward(retain_graph=True)\n")
    frames = [(str(file), 3, "step")]
    passes = [Operation("op", frames, "", in_backward) for in_backward in (False, True, True, False, True)]
    twice, once = storage(1, 8, 0, 5, (1, 4)), storage(1, 8, 0, 5, (1, 2))
    assert needless_retain(Recording(passes, [twice], [0, 5]), 4) is None
    assert needless_retain(Recording(passes, [once], [0, 5]), 2) == frames[0]


def test_a_graph_that_a_pass_of_a_later_step_reads_is_retained_rightly(tmp_path: Path) -> None:
    """The discriminator's step ends before the generator's pass reads the graph of both."""
    file = tmp_path / "train.py"
    file.write_text("def step():\n    d_loss.backward(retain_graph=True)\n    d.step()\n    g_loss.backward()\n")
    first, second = [(str(file), 2, "step")], [(str(file), 4, "step")]
    runs = [(first, False), (first, True), (second, True), (first, False), (first, True), (second, True)]
    passes = [Operation("op", frames, "", in_backward) for frames, in_backward in runs]
    needed, mask = storage(1, 8, 0, 3, (1, 2)), storage(1, 8, 0, None, (1, 3, 4))
    assert needless_retain(Recording(passes, [needed], [0, 2, 6]), 1) is None
    assert needless_retain(Recording(passes, [mask], [0, 2, 6]), 1) == first[0]


def test_a_backward_pass_within_an_optimizer_is_called_backward() -> None:
    made, other = storage(1, 8, 1, None, (2,)), storage(2, 8, 1, None, (3,))
    contexts = [(OPTIMIZER, False), (OPTIMIZER, True), (OPTIMIZER, False), (OPTIMIZER, True)]
    found = Recording([Operation("op", [], one, passes) for one, passes in contexts], [made, other], [0, 4])
    judge = Judge(Recorded(found, [], 0))
    assert [judge.moment(number).phase for number in range(4)] == ["optimizer", "backward"] * 2
    assert [judge.is_gradient(one) for one in (made, other)] == [True, False]
    assert list(prefixes(OPTIMIZER)) == []


def test_the_accelerator_that_operations_use_is_judged_and_others_are_named() -> None:
    rows, work = storage(1, 7_000_000, None, None), storage(2, 1000, 1, 3, (2,))
    more, few = storage(3, 800, 2, None), storage(4, 10, 2, None)
    work.device, more.device, few.device = 1, 1 + (1 << 8), 1 + (2 << 8)
    found = recording([rows, work, more, few], [0, 4])
    report = Judge(Recorded(found, [], 0)).report(PeakReport("train.py", ""))
    assert (report.device, report.peak_bytes) == ("cuda:0", 1000)
    assert report.limits == (
        "Memory on cpu is not in this report: 7,000,000 bytes at its peak in this step.",
        "Memory on cuda:1 is not in this report: 800 bytes at its peak in this step.",
    )
    assert main_device(recording([rows, storage(5, 10, 1, None)], [0, 4])) == 0


def test_a_step_that_uses_no_memory_says_so() -> None:
    empty = Judge(Recorded(recording([], [0, 0]), [], 0)).report(PeakReport("train.py", ""))
    dead = Judge(Recorded(recording([storage(1, 8, 0, 1)], [0, 2, 4]), [], 1)).report(PeakReport("train.py", ""))
    assert (empty.trouble, dead.trouble) == ("no operation of the judged step used memory",) * 2


def test_a_buffer_that_each_step_overwrites_is_not_unused() -> None:
    """It is no saving, and was counted as memory that is never read again all the same."""
    buffer, work = storage(1, 90, None, None, (1, 11), (0, 10)), storage(2, 10, 3, 4, (3,))
    report = Judge(Recorded(recording([buffer, work], [0, 10, 20]), [], 0)).report(PeakReport("train.py", ""))
    assert (report.uses["reused"], report.unused_bytes, report.savings) == (90, 0, ())


def test_what_is_no_longer_stored_is_free_within_the_statement_that_uses_it_last(tmp_path: Path) -> None:
    """Hooks that fill a dict which nobody reads: the backward pass is one statement, and frees as it goes."""
    file = tmp_path / "hooks.py"
    file.write_text("def hook(output):\n    kept['x'] = output\n\ndef step():\n    loss.backward()\n")
    operations = [Operation("op", [(str(file), 5, "step")], "", True) for _ in range(4)]
    found = Recording(operations, [], [0, 4])
    kept = Holder(Owner.NAMED, "", Kind.GLOBAL, "kept", str(file), "hooks", path="['x']")
    named = Holder(Owner.NAMED, "", Kind.GLOBAL, "loss", str(file), "hooks")
    assert (release(found, [kept], 1), release(found, [named], 1)) == (2, 4)


def test_moments_to_look_at_are_the_peak_and_those_behind_it() -> None:
    high, low = storage(0, 60, 0, 4, (1,)), storage(1, 50, 4, 9, (5,))
    works = [storage(2, 100, 3, 4, (3,)), storage(3, 100, 7, 8, (7,))]
    assert scout_peaks(recording([high, low, *works], [0, 10]), 0) == [3, 7]
    assert scout_peaks(recording(works, [0, 10]), 0) == [3]


def test_storages_with_the_same_memory_are_one() -> None:
    array, tensor, later = storage(0, 8, 0, 6, (1,)), storage(1, 8, 2, 9, (4,)), storage(2, 8, 11, 12)
    for one in (array, tensor, later):
        one.data = 4096
    found = merge_shared([array, tensor, later])
    assert [(one.number, one.reads, one.died, one.aliases) for one in found] == [
        (0, [1, 4], tick_before(9), [1001]),
        (2, [], tick_before(12), []),
    ]


def test_a_storage_at_the_address_of_one_that_was_freed_has_its_own_holders() -> None:
    old, fresh, steady = storage(0, 10, 0, 3), storage(1, 10, 5, 9), storage(2, 10, None, None)
    fresh.address = old.address
    found = recording([old, fresh, steady], [0, 10])
    snapshots = HolderSnapshots(
        found, [snapshot(1, old=[old], peak=[steady]), snapshot(6, fresh=[fresh], later=[steady])], 0
    )
    held = snapshots.all_held(found.storages, 1)
    assert {number: one.first.name for number, one in held.items()} == {0: "old", 1: "fresh", 2: "peak"}


def test_what_no_operation_used_has_no_last_use() -> None:
    """The stack of the first operation was once taken for it."""
    batch = storage(0, 10, None, 9)
    found = recording([batch], [0, 10])
    judge = Judge(Recorded(found, [snapshot(1, x=[batch])], 0))
    [group] = judge.groups()
    assert (group.last, judge.life(group).last, judge.life(group).retained) == (-1, (), ())


def test_memory_is_read_from_the_judged_step_alone() -> None:
    warm, ours = storage(0, 100, 1, 4), storage(1, 30, 12, 18)
    found = recording([warm, ours], [0, 10, 20])
    judge = Judge(Recorded(found, [], 1, malloc={2: (500, 0), 10: (40, 1), 13: (75, 2), 19: (60, 1)}))
    assert judge.memory(live_bytes(found.storages, found.end)) == ProcessMemory(35, 30, 1)


class Crowd(Search):
    """Finds twenty names for each wrapper."""

    def _names(self, node: int, path: str, depth: int, record: int = 0) -> Iterator[Holder]:
        return (Holder(Owner.NAMED, f"name {number} of {node}") for number in range(20))


def test_the_holders_of_a_storage_with_many_wrappers_are_limited() -> None:
    graph = SimpleNamespace(referrers=lambda node: range(5), kind=lambda node: "python")
    names: Any = SimpleNamespace(graph=graph, variables={}, modules={}, module_paths={})
    assert len(Crowd(names).storage_holders(9)) == MAX_HOLDERS
