"""Pack and unpack hooks: who owns the callables and what they packed, and when they run."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import Counted, Packed, copy_of, grad, identity, leaf, text_of
from leftovers import leaves
from torch_texts import FREED

saved_tensors_hooks = torch.autograd.graph.saved_tensors_hooks


def test_each_slot_owns_a_reference_to_both_callables_and_to_what_was_packed() -> None:
    """The counts of `c02_refcounts_over_life`, measured on every release from 1.10 on."""
    hooks, x = Counted(), leaf()
    block = saved_tensors_hooks(hooks.pack, hooks.unpack)
    with block:
        assert hooks.counts() == [2, 2, 0]  # one in the block object, one on the stack
        first = x.sin()
        assert hooks.counts() == [3, 3, 1]
        second = x.cos()
        assert hooks.counts() == [4, 4, 2]
    del block
    assert hooks.counts() == [2, 2, 2]
    del first
    assert hooks.counts() == [1, 1, 1]
    second.sum().backward(retain_graph=True)
    assert hooks.counts() == [1, 1, 1]
    second.sum().backward()
    assert hooks.counts() == [0, 0, 0]
    del second
    assert hooks.counts() == [0, 0, 0]


def test_a_node_with_two_slots_owns_everything_twice() -> None:
    hooks, x, w = Counted(), leaf(), leaf()
    with saved_tensors_hooks(hooks.pack, hooks.unpack):
        y = x * w
    assert hooks.counts() == [2, 2, 2]
    del y
    assert hooks.counts() == [0, 0, 0]


def test_references_are_stolen_at_construction_and_released_with_the_slot() -> None:
    hooks, x = Counted(), leaf()
    y = x.sin()
    y.grad_fn._raw_saved_self.register_hooks(hooks.pack, hooks.unpack)
    assert hooks.counts() == [1, 1, 1]
    y.sum().backward()
    assert hooks.counts() == [0, 0, 0]


def test_hooks_of_a_dropped_graph_and_what_they_packed_are_freed_at_once() -> None:
    dead: list[str] = []

    def build() -> Any:
        def pack(tensor: Any) -> Any:
            box = Packed(tensor)
            weakref.finalize(box, dead.append, "packed")
            return box

        def unpack(box: Any) -> Any:
            return torch.tensor(box.values)

        weakref.finalize(pack, dead.append, "pack")
        weakref.finalize(unpack, dead.append, "unpack")
        with saved_tensors_hooks(pack, unpack):
            return leaf().sin()

    y = build()
    assert dead == []
    del y
    assert sorted(dead) == ["pack", "packed", "unpack"]


def test_retrieving_the_unpack_hook_and_the_data_adds_one_reference_each_and_runs_nothing() -> None:
    hooks, x = Counted(), leaf()
    with saved_tensors_hooks(hooks.pack, hooks.unpack):
        y = x.sin()
    raw = y.grad_fn._raw_saved_self
    before = hooks.counts()
    unpack_hook, data = raw.unpack_hook, raw.data
    assert unpack_hook is hooks.unpack
    assert data is hooks.box
    assert hooks.counts() == [before[0], before[1] + 1, before[2] + 1]
    del unpack_hook, data
    for _ in range(100):
        assert raw.unpack_hook is hooks.unpack
        assert raw.data is hooks.box
    assert hooks.counts() == before


@leaves(hook=0)
@pytest.mark.unsound
def test_a_borrowed_reference_is_one_too_few() -> None:
    with torch.profile("torch-2.13", hook_references="borrowed"):
        hooks, x = Counted(), leaf()
        spare = [hooks.pack, hooks.unpack] * 4  # the missing references are taken from these
        hooks.rebase()
        with saved_tensors_hooks(hooks.pack, hooks.unpack):
            y = x.sin()
        assert hooks.counts() == [0, 0, 1]
        del y
        assert hooks.counts() == [-1, -1, 0]
    ctypes_incref(hooks.pack)
    ctypes_incref(hooks.unpack)
    assert hooks.counts() == [0, 0, 0]
    del spare


def ctypes_incref(obj: object) -> None:
    """Gives back the reference that the broken policy took."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(obj))


def test_an_extra_reference_is_never_given_back() -> None:
    with torch.profile("torch-2.13", hook_references="extra"):
        hooks, x = Counted(), leaf()
        with saved_tensors_hooks(hooks.pack, hooks.unpack):
            y = x.sin()
        assert hooks.counts() == [2, 2, 1]
        y.sum().backward()
        assert hooks.counts() == [1, 1, 0]
    for _ in range(5):
        with torch.profile("broken-hook-extra"), saved_tensors_hooks(hooks.pack, hooks.unpack):
            x.sin()
    assert hooks.counts() == [6, 6, 0]


@leaves(tensor=2, storage=2, node=2, saved=1, hook=1)
def test_an_identity_pack_of_an_output_is_a_cycle_that_nothing_collects() -> None:
    with saved_tensors_hooks(identity, identity):
        y = torch.ones(1, requires_grad=True).exp()
    output = weakref.ref(y)
    del y
    assert output() is not None


def test_backward_breaks_the_cycle_of_an_identity_pack() -> None:
    with saved_tensors_hooks(identity, identity):
        y = torch.ones(1, requires_grad=True).exp().sum()
    output = weakref.ref(y)
    y.backward()
    del y
    assert output() is None


def test_what_pack_is_given() -> None:
    """Default hooks get the tensor itself; hooks set on a slot get a detached one where the slot kept an input."""
    seen: list[Any] = []

    def pack(tensor: Any) -> Any:
        seen.append((tensor.grad_fn is not None, tensor.is_leaf, tensor.requires_grad))
        return copy_of(tensor)

    x = leaf()
    with saved_tensors_hooks(pack, identity):
        x.exp()
        (x * 1).sin()
        x.sin()
    assert seen == [(True, False, True), (True, False, True), (False, True, True)]
    seen.clear()
    of_input, of_output = x.sin(), x.exp()
    of_input.grad_fn._raw_saved_self.register_hooks(pack, identity)
    of_output.grad_fn._raw_saved_result.register_hooks(pack, identity)
    assert seen == [(False, True, False), (False, True, False)]


def test_hooks_run_once_a_save_and_once_a_read() -> None:
    calls: list[str] = []

    def pack(tensor: Any) -> Any:
        calls.append("pack")
        return copy_of(tensor)

    def unpack(tensor: Any) -> Any:
        calls.append("unpack")
        return tensor

    with saved_tensors_hooks(pack, unpack):
        y = leaf().sin()
    node = y.grad_fn
    assert node._saved_self is not node._saved_self
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert calls == ["pack", "unpack", "unpack", "unpack", "unpack"]


def test_an_unpacked_leaf_gets_its_gradient_and_an_unpacked_output_its_node() -> None:
    x = leaf(0.0)
    with saved_tensors_hooks(copy_of, identity):
        y = x.exp()
    back = y.grad_fn._saved_result
    assert back.grad_fn is y.grad_fn
    (second,) = grad(grad(y, x, create_graph=True)[0], x)
    assert second.tolist() == [1.0]


def test_a_graph_destroyed_by_a_native_thread_lets_its_hooks_go_under_the_interpreter_lock() -> None:
    from gradlife import _engine

    hooks, threads = Counted(), []

    def pack(tensor: Any) -> Any:
        box = Packed(tensor)
        weakref.finalize(box, lambda: threads.append(threading.get_ident()))
        return box

    with saved_tensors_hooks(pack, hooks.unpack):
        y = leaf().sin()
    counted = sys.getrefcount(pack)
    _engine._drop_in_thread(y)
    assert y.grad_fn is None
    assert sys.getrefcount(pack) == counted - 1
    assert hooks.counts() == [0, 0, 0]
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


def test_freed_hooks_say_freed() -> None:
    with saved_tensors_hooks(copy_of, identity):
        y = leaf().sin()
    y.sum().backward()
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    assert text_of(error) == FREED


@pytest.mark.parametrize(
    ("left", "right", "packed"),
    [
        ((2, 3), (2, 4), [(2, 4), (2, 3)]),
        ((2, 3), (2,), [(2, 3), (2,)]),
        ((3,), (2,), [(3,), (2,)]),
        ((2, 2, 3), (2, 2, 4), [(2, 2, 4), (2, 2, 3)]),
    ],
    ids=["mm", "mv", "dot", "bmm"],
)
def test_a_product_that_fails_has_packed_its_operands(left: Any, right: Any, packed: list[Any]) -> None:
    """PyTorch saves operands before it looks at their sizes."""
    seen: list[Any] = []
    x, w = torch.ones(left, requires_grad=True), torch.ones(right, requires_grad=True)
    with pytest.raises(RuntimeError), saved_tensors_hooks(lambda tensor: seen.append(tuple(tensor.shape)), identity):
        x @ w
    assert seen == packed


def test_the_maximum_of_nothing_has_packed_its_operand() -> None:
    seen: list[Any] = []
    x = torch.ones(0, requires_grad=True)
    with pytest.raises(RuntimeError), saved_tensors_hooks(lambda tensor: seen.append(tuple(tensor.shape)), identity):
        x.max()
    assert seen == [(0,)]
