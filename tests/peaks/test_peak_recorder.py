"""The recorder sees each storage's birth, uses and death, and changes nothing in the steps that it does not record."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

from gradlife import _heap
from gradlife.heap.scan import OWN_FOLDER
from gradlife.heap.torch_layout import torch as calibration
from gradlife.hunting.process.forked import in_fork
from gradlife.peaks.analysis.judge import Judge, Recorded
from gradlife.peaks.recording.lifetimes import OPTIMIZER, Recording, Storage, merge_shared, tick_before, tick_within
from gradlife.peaks.recording.torch import Contexts, Recorder
from peak_recordings import names, recorded, storage

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*autocast:FutureWarning"),  # of a checkpoint of 2.4 itself
]


def of_size(storages: list[Storage], nbytes: int) -> list[Storage]:
    return [one for one in storages if one.sizes[0][1] == nbytes]


def test_a_storage_is_born_read_and_gone_at_exact_operations() -> None:
    def step() -> None:
        made = torch.ones(1001)  # 0
        made.mul_(2)  # 1
        made.sum()  # 2
        del made
        torch.zeros(3)  # 3

    found = recorded(step, 1)
    assert names(found) == ["ones", "mul_", "sum", "zeros"]
    [made] = of_size(found.storages, 4004)
    assert (made.birth, made.reads, made.died) == (0, [1, 2], tick_before(3))


def test_views_are_their_storage() -> None:
    def step() -> None:
        base = torch.ones(1003)
        view = base[2:].view(-1)
        del base
        view.sum()
        del view
        torch.zeros(3)

    found = recorded(step, 1)
    [base] = of_size(found.storages, 4012)
    assert [names(found)[at] for at in base.reads] == ["sum"]  # a view reads no memory
    assert base.died == tick_before(len(found.operations) - 1)


def test_memory_that_is_given_out_again_belongs_to_another_storage() -> None:
    def step() -> None:
        for _ in range(50):
            torch.ones(2003)

    found = of_size(recorded(step, 1).storages, 8012)
    assert len(found) == 50
    assert [(one.birth, one.died) for one in found] == [(at, tick_before(at + 1)) for at in range(50)]


def test_zeroing_overwrites_and_reads_nothing() -> None:
    def step() -> None:
        made = torch.ones(1005)
        made.zero_()
        torch.add(made, 1, out=made)
        part = torch.ones(1007)
        part[3:].zero_()

    found = recorded(step, 1)
    [made], [part] = of_size(found.storages, 4020), of_size(found.storages, 4028)
    assert (made.overwrites[0], part.overwrites) == (1, [])
    assert [names(found)[at] for at in part.reads] == ["zero_"]


def test_a_resized_storage_has_its_new_size_from_then_on() -> None:
    def step() -> None:
        made = torch.ones(1009)
        made.untyped_storage().resize_(0)
        torch.zeros(3)
        made.untyped_storage().resize_(4036)
        torch.zeros(3)

    [made] = of_size(recorded(step, 1).storages, 4036)
    assert [made.bytes_at(tick_within(at)) for at in range(3)] == [4036, 0, 4036]


def test_the_gradient_of_a_backward_pass_lives_until_it_is_dropped() -> None:
    weight = torch.ones(1011, requires_grad=True)

    def step() -> None:
        (weight * 2).sum().backward()
        weight.grad = None
        torch.zeros(3)

    found = recorded(step, 1)
    last = len(found.operations) - 1
    gone = [one for one in of_size(found.storages, 4044) if one.died == tick_before(last)]
    assert len(gone) == 1
    in_backward = {name for name, one in zip(names(found), found.operations, strict=True) if one.in_backward}
    assert "expand" in in_backward
    assert "sum" not in in_backward


class Mean(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """A custom Function that saves a tensor and an attribute."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.kept = x * 2
        return x.mean()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return ctx.kept * grad + x * 0


def program() -> None:
    """Views, writes in place, out=, a custom Function, a checkpoint, numpy, an optimizer."""
    from torch.utils.checkpoint import checkpoint

    net = torch.nn.Sequential(torch.nn.Linear(40, 30), torch.nn.ReLU(), torch.nn.Linear(30, 20))
    optimizer = torch.optim.AdamW(net.parameters())
    x = torch.from_numpy(torch.ones(50, 40).numpy() * 2)
    h = checkpoint(net, x, use_reentrant=False)
    h = h + 0
    h[1:3].mul_(2)
    out = torch.empty(50, 20)
    torch.add(h.detach(), 1, out=out)
    Mean.apply(h).backward()
    optimizer.step()
    optimizer.zero_grad()
    outs = [out.view(-1).clone() for _ in range(3)]
    outs.pop(0)
    torch.cat(outs)


def storages_in_heap() -> dict[int, int]:
    """Bytes of all storages by address, as the heap graph has them."""
    graph = _heap.walk(hidden_sources=OWN_FOLDER)
    nodes = (node for node in range(graph.node_count) if graph.kind(node) == "storage")
    shown = {address: _heap._torch_description(address) for address in (graph.describe(node).address for node in nodes)}
    return {address: row[3] for address, row in shown.items() if row is not None and row[3]}


#: What torch makes without an operation: numbers as tensors, the state of the random generator.
OUTSIDE_OPERATIONS = {8, 5056}


@pytest.mark.whole
@pytest.mark.parametrize("part", [0.0, 0.25, 0.5, 0.75])
def test_live_storages_are_those_of_the_heap_within_an_operation(part: float) -> None:
    program()
    gc.collect()
    alarm = int(part * len(recorded(program, 1).operations))
    seen: dict[int, int] = {}
    recorder = Recorder(Contexts(), lambda: seen.update(in_fork(storages_in_heap)))
    recorder.start()
    recorder.alarm_at(alarm)
    program()
    recorder.mark_step()
    found = recorder.stop()
    alive = {one.address: nbytes for one in found.storages if (nbytes := one.bytes_at(tick_within(alarm)))}
    assert {address: seen.get(address) for address in alive} == alive
    assert {seen[address] for address in seen.keys() - alive.keys()} <= OUTSIDE_OPERATIONS


def test_a_recording_goes_on_with_the_layout_of_its_start() -> None:
    recorder = Recorder(Contexts(), lambda: None)
    recorder.start()
    try:
        _heap._set_torch_layout(dict.fromkeys(("impl_in_wrapper", "storage_in_impl", "bytes_in_storage"), 8))
        made = torch.ones(1021)
        recorder.mark_step()
        found = recorder.stop()
    finally:
        calibration.calibrate(torch)
    assert len(of_size(found.storages, made.untyped_storage().nbytes())) == 1


def test_an_alarm_that_fails_is_no_error_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError("an alarm")

    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    recorder = Recorder(Contexts(), fail)
    recorder.start()
    recorder.alarm_at(0)
    torch.ones(3)
    recorder.stop()
    assert [str(one.exc_value) for one in told] == ["an alarm"]


def test_nothing_is_left_of_a_recording() -> None:
    made = torch.ones(1013)
    storage = made.untyped_storage()
    counts = [offset_word(storage)]
    recorded(lambda: made.sum(), 2)
    assert [offset_word(storage)] == counts
    assert not torch.nn.modules.module._global_forward_hooks
    assert not torch.nn.modules.module._global_forward_pre_hooks
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


def offset_word(storage: Any) -> int | None:
    """Both reference counts of a storage."""
    return _heap._read_word(storage._cdata + 8)


def test_an_error_of_the_program_goes_through() -> None:
    def step() -> None:
        torch.ones(3) @ torch.ones(4)

    with pytest.raises(RuntimeError, match="inconsistent tensor size"):
        recorded(step, 1)
    recorded(lambda: torch.ones(3), 1)


def test_two_recordings_at_once_are_refused() -> None:
    from gradlife.errors import GradlifeError

    recorder = Recorder(Contexts(), lambda: None)
    recorder.start()
    try:
        with pytest.raises(GradlifeError, match="followed already"):
            Recorder(Contexts(), lambda: None).start()
    finally:
        recorder.stop()


def test_modules_are_known_by_their_paths() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.ReLU()))
    found = recorded(lambda: net(torch.ones(2, 4)), 1)
    contexts = {name: one.context for name, one in zip(names(found), found.operations, strict=True)}
    assert (contexts["ones"], contexts["addmm"], contexts["relu"]) == ("", "0", "1.0")


def test_a_module_that_names_no_parts_is_known_by_its_class() -> None:
    class Odd(torch.nn.Module):  # type: ignore[misc, name-defined]
        """Names no modules, or fails."""

        def __init__(self, fails: bool) -> None:
            super().__init__()
            self.fails = fails

        def named_modules(self, *args: Any, **kwargs: Any) -> Any:
            return iter(()) if not self.fails else [][0]

        def forward(self, x: Any) -> Any:
            return x.relu()

    found = recorded(lambda: [Odd(fails)(torch.ones(4)) for fails in (False, True)], 1)
    assert [one.context for one in found.operations] == ["", "Odd", "", "Odd"]


def test_a_wrapper_subclass_is_taken_apart_first() -> None:
    class Twice(torch.Tensor):  # type: ignore[misc, name-defined]
        """A tensor that is made of another."""

        @staticmethod
        def __new__(cls, inner: Any) -> Any:
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            inner = [one.inner if isinstance(one, cls) else one for one in args]
            return cls(function(*inner, **(kwargs or {})))

    twice = Twice(torch.ones(1015))

    def step() -> None:
        twice + twice

    assert len(of_size(recorded(step, 1).storages, 4060)) == 2  # both real ones


def lives(found: Recording, nbytes: int) -> list[tuple[int | None, list[int], int | None]]:
    """Birth, reads and the operation that finds it gone, of storages of a size that operations made."""
    return [
        (one.birth, one.reads, one.died // 2 if one.died is not None else None)
        for one in found.storages
        if one.birth is not None and one.sizes[0][1] == nbytes
    ]


def test_an_output_that_is_passed_in_is_overwritten_and_one_in_place_is_read() -> None:
    a, b, c = (torch.ones(100) for _ in range(3))

    def step() -> None:
        torch.add(a, b, out=c)
        c.add_(a)

    found = recorded(step, 1)
    assert names(found) == ["add", "add_"]
    assert [(one.reads, one.overwrites) for one in found.storages if one.data == c.data_ptr()] == [([1], [0])]


class Square(torch.autograd.Function):  # type: ignore[misc, name-defined]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * gradient * x


def test_what_a_custom_function_saves_is_read_in_the_backward_pass() -> None:
    weight = torch.ones(100, requires_grad=True)

    def step() -> None:
        Square.apply(weight.exp()).sum().backward()
        weight.grad = None

    found = recorded(step, 1)
    backward = [number for number, one in enumerate(found.operations) if one.in_backward]
    birth, reads, died = lives(found, 400)[0]
    assert (names(found)[0], birth) == ("exp", 0)
    assert reads[-1] in backward
    assert died is not None
    assert died > reads[-1]


def test_a_checkpointed_activation_is_made_twice_and_gone_in_between() -> None:
    from torch.utils.checkpoint import checkpoint

    weight = torch.ones(100, requires_grad=True)

    def step() -> None:
        checkpoint(lambda x: x.exp().sin(), weight, use_reentrant=False).sum().backward()
        weight.grad = None

    found = recorded(step, 1)
    first, second = (number for number, name in enumerate(names(found)) if name == "exp")
    [gone] = [died for birth, _, died in lives(found, 400) if birth == first]
    assert not found.operations[first].in_backward
    assert found.operations[second].in_backward
    assert gone is not None
    assert gone <= second


def test_what_a_hook_of_a_tensor_makes_is_made_in_the_backward_pass() -> None:
    weight = torch.ones(100, requires_grad=True)

    def step() -> None:
        output = weight.exp()
        output.register_hook(lambda gradient: gradient.cos())
        output.sum().backward()
        weight.grad = None

    found = recorded(step, 1)
    assert [one.in_backward for one in found.operations if one.function == "aten.cos"] == [True]


def test_batches_of_a_loader_are_made_by_its_stack() -> None:
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(TensorDataset(torch.ones(8, 25)), batch_size=4)

    def step() -> None:
        for (batch,) in loader:
            batch.sum()

    found = recorded(step, 1)
    stacks = [number for number, name in enumerate(names(found)) if name == "stack"]
    assert [birth for birth, _, _ in lives(found, 400)] == stacks
    assert len(stacks) == 2


def test_a_storage_whose_memory_was_given_back_is_not_the_next_one_there() -> None:
    data: list[int] = []

    def step() -> None:
        made = torch.ones(1019)
        data.append(made.data_ptr())
        made.untyped_storage().resize_(0)
        torch.zeros(3)
        made.untyped_storage().resize_(8152)
        data.append(made.data_ptr())
        torch.zeros(3)

    [made] = of_size(recorded(step, 1).storages, 4076)
    assert made.moves == [(tick_before(1), 0), (tick_before(2), data[1])]
    assert [made.data_at(tick_within(at)) for at in range(3)] == [data[0], 0, data[1]]


def test_storages_are_merged_only_while_the_older_one_has_its_memory() -> None:
    empty, moved, shared = storage(0, 400, 0, None), storage(1, 400, 0, None), storage(2, 400, 0, None)
    empty.data, moved.data, shared.data = 8000, 9000, 9500
    empty.sizes.append((tick_before(2), 0))
    moved.sizes.append((tick_before(2), 800))
    moved.moves.append((tick_before(2), 9900))
    later = [storage(3, 400, 3, None), storage(4, 400, 3, None), storage(5, 400, 3, 5, (4,))]
    for one, data in zip(later, (8000, 9000, 9500), strict=True):
        one.data = data
    found = merge_shared([empty, moved, shared, *later])
    assert [one.number for one in found] == [0, 1, 2, 3, 4]
    assert (shared.aliases, shared.reads) == ([1005], [4])


def test_what_an_operation_reads_and_writes_to_is_read() -> None:
    def step() -> None:
        average, value = torch.ones(1021), torch.ones(1031)[:1021]  # 0, 1
        torch.lerp(average, value, 0.5, out=average)
        torch.add(average[:], 1, out=average)
        torch.add(value, 1, out=average)
        average.copy_(average.view(-1))
        torch._foreach_copy_([average], [value])

    found = recorded(step, 1)
    [average] = of_size(found.storages, 4084)
    shown = names(found)
    assert [shown[at] for at in average.reads] == ["lerp", "add", "copy_"]
    assert [shown[at] for at in average.overwrites] == ["add", "_foreach_copy_"]
    assert average.overwrites[0] == average.reads[1] + 1


def test_the_passes_of_a_closure_are_no_optimizer() -> None:
    weight = torch.ones(1033, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    net = torch.nn.Sequential(torch.nn.Sigmoid())
    contexts = Contexts()
    contexts.attach(sys.modules["torch.optim.optimizer"])

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (net(weight) * 2).sum()
        loss.backward()
        return loss

    def step() -> None:
        optimizer.step(closure)
        optimizer.step(closure=closure)

    try:
        found = recorded(step, 2, contexts=contexts)
    finally:
        contexts.detach()
    moments = {(name, one.context) for name, one in zip(names(found), found.operations, strict=True)}
    assert {("sigmoid", "0"), ("sum", ""), ("sigmoid_backward", "")} <= moments
    assert {context for _, context in moments} == {"", "0", OPTIMIZER}
    judge = Judge(Recorded(found, [], 1))
    phases = {name: judge.moment(number).phase for number, name in enumerate(names(found))}
    assert (phases["sigmoid"], phases["sigmoid_backward"]) == ("forward", "backward")
    assert "optimizer" in phases.values()
