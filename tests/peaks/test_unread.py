"""Memory at the peak that no recorded step reads: what is reported together, and what waits for its turn."""

from __future__ import annotations

from typing import Any

from gradlife.model.peak.report import Owner
from gradlife.peaks.analysis.judge import Judge, Recorded
from gradlife.peaks.analysis.unread import UnreadStorages, is_never_read, module_of
from gradlife.peaks.recording.holders import Held, Holder
from gradlife.peaks.recording.lifetimes import Storage
from gradlife.peaks.recording.variables import Kind
from peak_recordings import recording, storage

#: One storage after the other, and its holder.
Found = list[tuple[Storage, Holder]]


def parameter(path: str, top: str = "net") -> Holder:
    return Holder(Owner.PARAMETER, f"parameter {path}", path=top)


def state(optimizer: str, path: str) -> Holder:
    return Holder(Owner.OPTIMIZER, f"state of {optimizer}", path=path)


def item(text: str, kind: Kind = Kind.GLOBAL) -> Holder:
    return Holder(Owner.NAMED, text, kind, text.split("[", maxsplit=1)[0], "nowhere.py", "module", path="[0]")


def rows(*found: tuple[Storage, Holder], is_cpu: bool = True) -> list[tuple[str, int, int]]:
    """What is reported of three steps of ten operations each, the second one judged at operation 15."""
    return [(one.holder, one.bytes, one.steps) for one in reported(*found, is_cpu=is_cpu)]


def reported(*found: tuple[Storage, Holder], is_cpu: bool = True) -> list[Any]:
    made = recording([one for one, _ in found], [0, 10, 20, 30])
    held = {one.number: Held([holder]) for one, holder in found}
    return list(UnreadStorages(made, held, 10, 15).rows(1000, is_cpu))


def old(number: int, nbytes: int, *reads: int) -> Storage:
    """A storage that is older than the recording and outlives it."""
    return storage(number, nbytes, None, None, reads)


def test_a_copy_of_a_model_is_one_row() -> None:
    layers = [(old(number, 50), parameter(f"trainer.ema.{number}.weight", "trainer.ema")) for number in range(3)]
    read = [(old(9, 50, 5, 15, 25), parameter("trainer.net.0.weight", "trainer.net"))]
    assert rows(*layers, *read) == [("trainer.ema", 150, 3)]


def test_a_part_of_a_model_is_told_by_its_outermost_module() -> None:
    layers = [(old(number, 50), parameter(f"net.pooler.{number}.weight")) for number in range(2)]
    [row] = reported(*layers, (old(9, 50, 15), parameter("net.body.weight")))
    assert (row.holder, row.advice) == ("net.pooler", "if nothing runs this part of the model: leave it out")


def test_experts_that_wait_for_their_turn_are_left_out() -> None:
    experts = [(old(number, 100), parameter(f"net.experts.{number}.weight")) for number in range(3)]
    moments = [(old(10 + number, 100), state("opt", f"net.experts.{number}.weight")) for number in range(3)]
    running = (old(9, 100, 15), parameter("net.experts.7.weight"))
    assert rows(*experts, *moments, running) == []


def test_the_state_of_frozen_layers_is_told_though_their_names_differ_from_others_in_a_number_alone() -> None:
    frozen = [(old(number, 60), state("opt", f"net.layers.{number}.weight")) for number in range(2)]
    weights = [(old(10 + number, 60, 15), parameter(f"net.layers.{number}.weight")) for number in range(4)]
    trained = (old(20, 60, 19), state("opt", "net.layers.3.weight"))
    [row] = reported(*frozen, *weights, trained)
    assert (row.holder, row.bytes) == ("state of opt for net.layers", 120)
    assert row.advice == "if they are no longer trained: `del opt.state[parameter]` for each"


def test_an_optimizer_that_is_not_stepped_is_told_as_a_whole() -> None:
    weights = (old(9, 60, 15), parameter("net.weight"))
    [row] = reported((old(0, 60), state("trainer.first", "net.weight")), weights)
    assert (row.holder, row.owner) == ("state of trainer.first", Owner.OPTIMIZER)
    assert row.advice == "if `trainer.first.step()` is not called again: drop the optimizer, and its scheduler"


def test_batches_of_which_others_are_read_are_left_out() -> None:
    waiting = [(old(number, 100), item(f"global batches[{number}] of train")) for number in range(4)]
    assert rows(*waiting, (old(9, 100, 15), item("global batches[4] of train"))) == []
    assert rows(*waiting) == [("global batches[*] of train", 400, 3)]


def test_what_each_step_adds_is_reported_although_the_step_itself_reads_it() -> None:
    errors = [(storage(number, 100, 10 * number + 2, None, (10 * number + 3,)), item("global errors[0] of train"))
              for number in range(3)]  # fmt: skip
    [row] = reported(*errors)
    assert (row.bytes, row.steps) == (100, 2)  # without that of the judged step; the later one is not made yet
    assert row.advice == "each step adds to it: keep only what is read; `gradlife hunt` shows whether it grows"


def test_little_of_the_peak_is_not_told() -> None:
    assert rows((old(0, 19), item("global first of train"))) == []


def test_where_the_memory_may_stay_depends_on_the_device() -> None:
    copy = old(0, 100), item("global first of train")
    [on_cpu], [on_gpu] = reported(*(copy,)), reported(*(copy,), is_cpu=False)
    assert on_cpu.advice.endswith("keep it in a file until then")
    assert on_gpu.advice.endswith("keep it on the CPU until then")


def test_gradients_are_read_by_nobody_until_something_else_is_known() -> None:
    zeroed = storage(0, 10, None, None, (), (5, 15))
    made = recording([zeroed], [0, 20])
    assert not is_never_read(made, zeroed, Held([Holder(Owner.GRADIENT, ".grad of w", Kind.GRADIENT, "grad")]))
    assert is_never_read(made, zeroed, Held([item("global shadow[0] of train")]))


def test_a_copy_that_each_step_overwrites_is_no_saving() -> None:
    """Weights to go back to: they were said to be overwritten before anybody reads them, and to save 5 % once."""
    copy, work = storage(0, 60, None, None, (), (8, 18, 28)), storage(1, 100, 15, 16, (15,))
    snapshots = [recorded_at(15, copy, item("global good[0] of train"))]
    judge = Judge(Recorded(recording([copy, work], [0, 10, 20, 30]), snapshots, 1))
    assert judge.groups() == []


def test_a_buffer_that_is_written_anew_is_no_saving() -> None:
    """`del static` after its last use was the advice for the inputs of a CUDA graph."""
    buffer, work = storage(0, 60, None, None, (3, 13, 23), (1, 11, 21)), storage(1, 100, 15, 16, (15,))
    holder = Holder(Owner.NAMED, "global static of train", Kind.GLOBAL, "static", "nowhere.py", "train")
    judge = Judge(Recorded(recording([buffer, work], [0, 10, 20, 30]), [recorded_at(15, buffer, holder)], 1))
    assert judge.groups() == []


def recorded_at(operation: int, one: Storage, holder: Holder) -> Any:
    from gradlife.peaks.analysis.holder_snapshots import HolderSnapshot

    return HolderSnapshot(operation, {one.address: Held([holder])})


def test_parameters_are_called_by_the_innermost_module_that_all_of_them_are_in() -> None:
    """Parts with one name in different modules are not shared: layers.0.attn and layers.1.attn are in `layers`."""
    assert module_of(["layers.0.attn.weight", "layers.0.attn.bias"]) == "layers.0.attn"
    assert module_of(["layers.0.attn.weight", "layers.1.attn.weight"]) == "layers"
    assert module_of(["head.weight", "tail.weight"]) == "2 parameters"
