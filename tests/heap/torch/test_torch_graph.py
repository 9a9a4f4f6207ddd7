"""The references of PyTorch's C++ objects, read from memory: named, without side effects, and left out if a layout
does not verify.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from gradlife import _heap
from gradlife.heap import why
from gradlife.heap.torch_layout import torch as calibration
from gradlife.heap.torch_layout.fields import find_layout
from gradlife.heap.torch_layout.offset_search import node_behind, pointer_to_class
from gradlife.heap.torch_layout.specimens import Toys
from gradlife.model.trace import Lifetime
from leftovers import run_in_child
from programs_of_cycles import hook_over_its_own_tensor, leaf

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.checkpoint")
pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_leg_of_a_hook_names_the_node_that_owns_it_too() -> None:
    trace = why(hook_over_its_own_tensor(torch)())
    assert trace.hidden_references == (
        "OrderedDict len 1 has 1 reference from SinBackward0 and TensorImpl that the collector cannot see",
    )


# --- what a root holds through C++ ---


def test_saved_tensor_of_a_kept_loss_is_named() -> None:
    def step(losses: list[Any]) -> Any:
        hidden = leaf(torch).sin()
        hidden.tag = "of the user"
        losses.append((hidden * hidden).sum())
        return weakref.ref(hidden)

    losses: list[Any] = []
    trace = why(step(losses)())
    assert [step.object for step in trace.steps][1:] == ["list", "Tensor", "SumBackward0", "MulBackward0", "Tensor"]
    assert [step.via for step in trace.steps][:-1] == [
        "local variable 'losses'",
        "[0]",
        "grad_fn",
        "next edge",
        "saved tensor 'other'",
    ]


@pytest.mark.skipif(not hasattr(torch._C._autograd, "_make_saved_tensor"), reason="checkpoints keep inputs in a ctx")
def test_input_of_a_checkpoint_is_found_behind_the_result_that_is_kept() -> None:
    def step(results: list[Any]) -> Any:
        inputs = torch.ones(3)
        run = torch.nn.Linear(3, 2)
        results.append(torch.utils.checkpoint.checkpoint(run, inputs, use_reentrant=False))
        return weakref.ref(inputs)

    results: list[Any] = []
    trace = why(step(results)())
    assert [step.object for step in trace.steps][-4:] == ["_CheckpointFrame", "list", "SavedTensor", "Tensor"]
    assert [step.via for step in trace.steps][-4:-1] == [".saved_args", "[0]", "saved tensor"]


def test_what_only_shows_a_saved_tensor_of_a_node_keeps_nothing() -> None:
    node = leaf(torch).sin().grad_fn
    assert _heap._torch_references(node._raw_saved_self) == []


def test_tensor_saved_for_backward_is_found_behind_its_ctx() -> None:
    class Saves(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    def build() -> tuple[Any, Any]:
        hidden = leaf(torch).sin()
        hidden.tag = "of the user"
        return Saves.apply(hidden).exp(), weakref.ref(hidden)

    kept, reference = build()
    trace = why(reference())
    assert trace.lifetime is Lifetime.HELD
    assert [step.object for step in trace.steps][1:] == ["Tensor", "ExpBackward0", "SavesBackward", "Tensor"]
    del kept


class SavesAll(torch.autograd.Function):  # type: ignore[name-defined,misc]
    """Saves as many tensors as it is given."""

    @staticmethod
    def forward(ctx: Any, x: Any, *others: Any) -> Any:
        ctx.save_for_backward(*others)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, *[None] * len(ctx.saved_tensors)


def indexed(shown: object, label: str) -> list[tuple[int, int]]:
    """The index and the address of each reference with a label."""
    return [(index, address) for found, index, _, address in _heap._torch_references(shown) if found == label]


@pytest.mark.parametrize("count", [5000, 50_000])  # 50,000 have a mapping of their own
def test_every_input_of_a_node_with_many_is_found(count: int) -> None:
    x = leaf(torch)
    total = torch.stack([x] * count)
    lone = x.sin()
    [(_, accumulator)] = indexed(node_behind(lone.grad_fn), "next edge")
    assert indexed(node_behind(total.grad_fn), "next edge") == [(i, accumulator) for i in range(count)]


@pytest.mark.parametrize("count", [1000, 20_000])
def test_every_tensor_that_a_ctx_saved_is_found(count: int) -> None:
    saved = [torch.ones(1) for _ in range(count)]
    kept = SavesAll.apply(leaf(torch), *saved)
    assert indexed(kept.grad_fn, "saved_tensors") == [(i, one._cdata) for i, one in enumerate(saved)]


def test_every_tensor_in_the_list_of_a_node_is_found() -> None:
    results = torch._foreach_exp([leaf(torch) for _ in range(2000)])
    grad_fn = results[0].grad_fn  # before 2.13 nothing else keeps this object
    _, node = pointer_to_class(id(grad_fn), "ForeachExpBackward0", 48)
    assert [index for index, _ in indexed(node, "saved")] == [*range(2000)]


@pytest.fixture
def _within_a_level() -> Iterator[None]:
    with torch.autograd.forward_ad.dual_level():
        calibration.ensure_calibrated()
        yield


@pytest.mark.usefixtures("_within_a_level")
def test_tangent_of_a_saved_result_is_found_behind_its_node() -> None:
    result = torch._make_dual(leaf(torch), torch.ones(3), level=0).exp()
    tangent = torch._unpack_dual(result, level=0)[1]
    assert indexed(node_behind(result.grad_fn), "tangent") == [(-1, tangent._cdata)]
    assert indexed(result._cdata, "tangent") == [(-1, tangent._cdata)]


# --- the process is as it was ---


def test_no_level_of_forward_mode_is_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one for all threads: the program's own could not be entered meanwhile."""
    entered: list[int] = []
    monkeypatch.setattr(torch._C, "_enter_dual_level", lambda: entered.append(0))
    assert calibration.calibrate(torch) == ()
    assert entered == []


def test_asking_leaves_counts_and_wrappers_alone() -> None:
    def differences() -> list[int]:
        x = leaf(torch)
        y = x.sin() * 2

        def counts() -> tuple[int, int, int]:
            return x._use_count(), y._use_count(), len(gc.get_objects())

        before = counts()
        why(y)
        why(x)
        gc.collect()
        return [after - count for count, after in zip(before, counts(), strict=True)]

    *uses, objects = run_in_child(differences)  # no other thread makes objects there
    assert uses == [0, 0]
    assert objects <= 50


def test_unpack_hooks_are_not_called() -> None:
    calls: list[Any] = []

    def unpack(packed: Any) -> Any:
        calls.append(packed)
        return packed

    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach(), unpack):
        y = leaf(torch).sin()
    why(y)
    assert calls == []


def test_layout_that_does_not_verify_is_said_and_not_followed() -> None:
    y = leaf(torch).sin()
    why(y)  # calibrated
    layout = find_layout(Toys(torch))
    try:
        _heap._set_torch_layout({**layout, "meta_in_impl": layout["storage_in_impl"], "edges_in_node": 8})
        trace = why(y)
        assert trace.lifetime is Lifetime.HELD
    finally:
        _heap._set_torch_layout(layout)


def test_layout_with_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="torch's layout has no 'colour'"):
        _heap._set_torch_layout({"colour": 3})
