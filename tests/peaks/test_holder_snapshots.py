"""Who holds a storage in each part of its unused time, from snapshots at several moments."""

from __future__ import annotations

from pathlib import Path

from gradlife.model.peak.report import Owner
from gradlife.peaks.analysis.groups import grouped
from gradlife.peaks.analysis.holder_snapshots import HolderSnapshot, HolderSnapshots
from gradlife.peaks.analysis.judge import end_in_dead_frames
from gradlife.peaks.analysis.savings import Replay
from gradlife.peaks.analysis.unread import UnreadStorages
from gradlife.peaks.analysis.unread_gradients import UnreadGradients, with_group
from gradlife.peaks.analysis.uses import gaps
from gradlife.peaks.recording.holders import UNREAD_GRADIENT, UPDATED, Held, Holder
from gradlife.peaks.recording.lifetimes import Operation, Recording, Storage, tick_before, tick_within
from gradlife.peaks.recording.variables import Kind
from peak_recordings import recording, storage

LOOP = """\
def step():
    for x in data:
        out = net(x)
        use(out)
        kept.append(out)
"""


def held(*names: str, file: str = "nowhere.py", kind: Kind = Kind.LOCAL) -> Held:
    return Held([Holder(Owner.NAMED, name, kind, name, file, "step") for name in names])


def lines(file: str, *numbers: int) -> list[Operation]:
    return [Operation("op", [(file, number, "step")], "", False) for number in numbers]


def names(found: Held | None) -> list[str]:
    return [one.name for one in found.holders] if found is not None else []


def test_a_loop_variable_lets_go_where_it_is_bound_anew(tmp_path: Path) -> None:
    """Made at operation 0, used at 1; line 3 runs again as operations 2 and 3; then the list alone holds it."""
    file = tmp_path / "loop.py"
    file.write_text(LOOP)
    out = storage(0, 10, 0, 9, (1,))
    found = Recording(lines(str(file), 3, 4, 3, 3, 4, 4, 4, 4, 4), [out], [0, 9])
    snapshots = HolderSnapshots(
        found,
        [
            HolderSnapshot(2, {out.address: held("out", "kept", file=str(file))}),
            HolderSnapshot(6, {out.address: held("kept", file=str(file))}),
        ],
        0,
    )
    parts = [(gap, names(who)) for gap, who in snapshots.parts(out, (tick_before(2), tick_before(9)))]
    assert parts == [((tick_before(2), tick_before(4)), ["out", "kept"]), ((tick_before(4), tick_before(9)), ["kept"])]


def test_a_name_in_a_loop_of_one_statement_holds_the_next_output_when_that_is_read(tmp_path: Path) -> None:
    """Hidden states in a tuple: half of what they take was said to be held by `x`, because each operation is at line 3.

    Each round reads the last output and makes the next; the snapshot is in the fourth round.
    """
    file = tmp_path / "loop.py"
    file.write_text("def step():\n    for layer in layers:\n        x = layer(x)\n        hidden = (*hidden, x)\n")
    outputs = [storage(number, 10, 2 * number + 1, 9, (2 * number + 2,)) for number in range(3)]
    found = Recording(lines(str(file), *[3] * 9), outputs, [0, 9])
    seen = {one.address: held("hidden", file=str(file)) for one in outputs[:2]}
    seen[outputs[2].address] = held("x", "hidden", file=str(file))
    snapshots = HolderSnapshots(found, [HolderSnapshot(7, seen)], 0)
    parts = [(gap, names(who)) for gap, who in snapshots.parts(outputs[0], (tick_before(3), tick_before(9)))]
    assert parts == [
        ((tick_before(3), tick_before(4)), ["x", "hidden"]),
        ((tick_before(4), tick_before(9)), ["hidden"]),
    ]


def test_what_a_look_saw_soonest_holds_for_all_of_one_origin() -> None:
    """Both are made by the same line; of the second one only a late snapshot is known."""
    first, second = storage(0, 10, 0, 9, (1,)), storage(1, 10, 4, 18, (5,))
    found = recording([first, second], [0, 20])
    for number in (0, 4):
        found.operations[number] = Operation("mm", [("train.py", 3, "main")], "", False)
    snapshots = HolderSnapshots(
        found,
        [HolderSnapshot(2, {first.address: held("out", "kept")}), HolderSnapshot(15, {second.address: held("kept")})],
        0,
    )
    assert [names(who) for _, who in snapshots.parts(second, (tick_before(6), tick_before(18)))] == [
        ["out", "kept"],
        ["kept"],
    ]


def test_a_look_at_a_later_step_counts_as_one_at_the_judged_step() -> None:
    """Steps of four operations: the storage of operation 9 is the twin of that of operation 1."""
    ours, theirs = storage(0, 10, 1, 3, (1,)), storage(1, 10, 9, 11, (9,))
    operations = [Operation(f"op{number % 4}", [("train.py", number % 4, "main")], "", False) for number in range(12)]
    found = Recording(operations, [ours, theirs], [0, 4, 8, 12])
    snapshots = HolderSnapshots(found, [HolderSnapshot(10, {theirs.address: held("out")})], 0)
    assert names(snapshots.at(2)[ours.address]) == ["out"]
    operations[9] = Operation("another", (), "", False)
    assert HolderSnapshots(found, [HolderSnapshot(10, {theirs.address: held("out")})], 0).at(2) == {}


def test_what_only_frames_of_a_traceback_hold_ends_with_the_recording() -> None:
    failed, running = storage(0, 10, 0, None, (1,)), storage(1, 10, 0, None, (1,))
    found = recording([failed, running], [0, 10])
    snapshot = HolderSnapshot(5, {failed.address: held("x", kind=Kind.EXCEPTION), running.address: held("x")})
    end_in_dead_frames(found, [snapshot])
    assert (failed.died, running.died) == (found.end, None)


def test_an_edit_that_another_saving_needs_too_lets_go_of_both() -> None:
    """`kept` alone holds one storage and, with `out`, another: both are free once `out` is edited as well."""
    one, both = storage(0, 60, 0, 9, (1,)), storage(1, 50, 0, 9, (1,))
    found = recording([one, both, storage(2, 100, 5, 6, (5,))], [0, 10])
    snapshot = HolderSnapshot(5, {one.address: held("kept"), both.address: held("kept", "out")})
    replay = Replay(found, found.storages, 0, 10)
    steps = replay.best_savings(grouped(found, found.storages, HolderSnapshots(found, [snapshot], 0), 0, 10))
    assert [(step.saved, step.saved_alone) for step in steps] == [(100, 100)]


def test_a_gradient_that_is_only_added_to_is_not_read() -> None:
    """Operation 4 makes what operation 5 adds to the gradient; operation 2 saves for it alone."""
    operations = [Operation("op", (), "", number > 3) for number in range(8)]
    operations[5] = Operation("aten.add_", (), "", True)
    gradient, added = storage(0, 40, None, None, (5,)), storage(1, 40, 4, 6, (5,))
    saved, other = storage(2, 30, 2, 7, (3, 4)), storage(3, 50, None, None, (3,))
    found = Recording(operations, [gradient, added, saved, other], [0, 8])
    graph = Held([Holder(Owner.SAVED, "", Kind.SAVED, "loss")])
    grad = Held([Holder(Owner.GRADIENT, "", Kind.GRADIENT, "grad")])
    snapshot = HolderSnapshot(4, {gradient.address: grad, other.address: grad, saved.address: graph})
    unread = UnreadGradients(found, [snapshot])
    group = unread.group()
    assert group is not None
    assert sorted(group.freed) == [
        (0, (0, found.end + 1)),
        (1, (tick_within(4), tick_before(6))),
        (2, (tick_before(4), tick_before(7))),
    ]
    assert [one.name for one in unread.snapshots()[0].held[gradient.address].holders] == [UNREAD_GRADIENT]
    assert with_group([], group) == [group]


def test_gradients_are_not_called_unread_where_no_operation_reads_any() -> None:
    """scipy's optimizer reads them as arrays of numpy: BoTorch's fit was told to compute none."""
    operations = [Operation("op", (), "", number > 3) for number in range(8)]
    operations[5] = Operation("aten.add_", (), "", True)
    gradient, added = storage(0, 40, None, None, (5,)), storage(1, 40, 4, 6, (5,))
    found = Recording(operations, [gradient, added], [0, 8])
    snapshot = HolderSnapshot(4, {gradient.address: Held([Holder(Owner.GRADIENT, "", Kind.GRADIENT, "grad")])})
    assert UnreadGradients(found, [snapshot]).group() is None


def test_a_gradient_waits_for_an_optimizer_that_has_its_parameter() -> None:
    operations = [Operation("op", (), "", number > 3) for number in range(8)]
    operations[5] = Operation("aten.add_", (), "", True)
    gradient, other = storage(0, 40, None, None, (5,)), storage(1, 50, None, None, (3,))
    found = Recording(operations, [gradient, other], [0, 4, 8])
    waits = Held([Holder(Owner.GRADIENT, ".grad of b", Kind.GRADIENT, "grad", path=UPDATED)])
    unread = UnreadGradients(found, [HolderSnapshot(4, {gradient.address: waits, other.address: waits})])
    assert (unread.group(), unread.waiting) == (None, {0})
    held = {0: waits, 1: waits}
    [row] = UnreadStorages(found, held, 0, 5, unread.waiting).rows(90, is_cpu=True)
    assert (row.holder, row.bytes, row.steps) == (".grad of b", 40, 2)
    assert row.advice == "if their optimizer does not step again: `requires_grad_(False)` for the parameters"


def test_a_gradient_that_an_optimizer_reads_is_read() -> None:
    gradient = storage(0, 40, None, None, (5, 6))
    found = recording([gradient], [0, 8])
    snapshot = HolderSnapshot(4, {gradient.address: Held([Holder(Owner.GRADIENT, "", Kind.GRADIENT, "grad")])})
    assert UnreadGradients(found, [snapshot]).group() is None


def test_what_was_there_before_and_is_freed_unread_is_unused_from_the_beginning() -> None:
    old: Storage = storage(0, 10, None, 9)
    assert list(gaps(old)) == [(0, tick_before(9))]


def test_what_only_a_graph_holds_is_not_freed_with_the_name_of_another_of_its_origin() -> None:
    """A loop's name was said to free all that its line had made, but graphs held all but the last."""
    first, last = storage(0, 10, 0, 9, (1,)), storage(1, 10, 2, 9, (3,))
    found = Recording(lines("nowhere.py", 3, 4, 3, 4, 5, 5, 5, 5, 5, 5), [first, last], [0, 10])
    graph = Held([Holder(Owner.SAVED, "saved self of MulBackward0", Kind.SAVED)])
    snapshots = HolderSnapshots(found, [HolderSnapshot(5, {first.address: graph, last.address: held("out")})], 0)
    groups = grouped(found, found.storages, snapshots, 0, 10)
    freed_by_name = [group.storages for group in groups if {place[0] for place in group.places} == {Kind.LOCAL}]
    assert freed_by_name == [[last]]
