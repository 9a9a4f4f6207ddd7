"""Graphs that cross threads: dropped where nobody holds the interpreter lock, built in one and run in another."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife import _engine
from lifetimes import (
    EVERY_PROFILE,
    RELEASES,
    Canary,
    collector_off,
    doubling,
    in_threads,
    leaf,
    nothing,
    save_input,
    unraisable_errors,
)

pytestmark = pytest.mark.valgrind

DEFAULT = str(torch.current_profile())
every_profile = pytest.mark.parametrize("profile", EVERY_PROFILE)
every_release = pytest.mark.parametrize("profile", RELEASES)


def with_canary(deaths: list[int]) -> Any:
    """A Function whose context carries an object that tells in which thread it died."""

    def carry(ctx: Any, x: Any, y: Any) -> None:
        ctx.canary = Canary(lambda: deaths.append(threading.get_ident()))
        ctx.save_for_backward(x)

    return doubling(carry)


# --- a graph dropped in a native thread that lacks the interpreter lock ---


@every_profile
def test_graph_dropped_without_the_lock_takes_its_context_along(profile: str) -> None:
    deaths: list[int] = []
    with torch.profile(profile), collector_off(), unraisable_errors() as errors:
        before = torch.live_counts()
        y = with_canary(deaths).apply(leaf()) * 3
        _engine._drop_in_thread(y)
        assert len(deaths) == 1
        assert deaths != [threading.get_ident()]
        assert y.grad_fn is None
        assert y.is_leaf
        assert torch.live_counts() == {**before, "tensor": before["tensor"] + 1, "storage": before["storage"] + 1}
        assert errors == []


@every_release
def test_hooks_and_metadata_of_a_graph_dropped_without_the_lock_go_there_too(profile: str) -> None:
    deaths: list[str] = []
    with torch.profile(profile), collector_off():
        y = doubling().apply(leaf())
        hook = Canary(lambda: deaths.append("hook"))
        y.grad_fn.register_hook(lambda *ignored, hook=hook: nothing(hook))
        y.grad_fn.metadata["canary"] = Canary(lambda: deaths.append("metadata"))
        del hook
        _engine._drop_in_thread(y)
        assert sorted(deaths) == ["hook", "metadata"]


def test_packed_data_of_a_graph_dropped_without_the_lock_goes_there_too() -> None:
    deaths: list[int] = []

    class Packed(Canary):
        def __init__(self, tensor: Any) -> None:
            super().__init__(lambda: deaths.append(threading.get_ident()))
            self.tensor = tensor

    with collector_off(), torch.autograd.graph.saved_tensors_hooks(Packed, lambda packed: packed.tensor):
        y = leaf().sin()
        _engine._drop_in_thread(y)
    assert len(deaths) == 1
    assert deaths != [threading.get_ident()]


def test_long_chain_dropped_without_the_lock_needs_no_deep_stack() -> None:
    with collector_off():
        before = torch.live_counts()["node"]
        y = leaf()
        for _ in range(50_000):
            y = y * 1
        _engine._drop_in_thread(y)
        assert torch.live_counts()["node"] == before


def test_chain_of_contexts_dropped_without_the_lock_needs_no_deep_stack() -> None:
    deaths: list[int] = []
    with collector_off():
        function, y = with_canary(deaths), leaf()
        for _ in range(2_000):
            y = function.apply(y)
        _engine._drop_in_thread(y)
        assert len(deaths) == 2_000


def test_dropping_without_the_lock_while_other_threads_build_and_drop() -> None:
    deaths: list[int] = []
    function = with_canary(deaths)

    def build_and_drop() -> int:
        for _ in range(50):
            _engine._drop_in_thread(function.apply(leaf()).sum())
        return 50

    assert sum(in_threads(*[build_and_drop] * 4)) == 200
    assert len(deaths) == 200


def test_graph_that_another_owner_shares_outlives_the_drop() -> None:
    x = leaf()
    y = doubling(save_input).apply(x)
    z = y * 3
    _engine._drop_in_thread(z)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_dropping_a_leaf_changes_nothing() -> None:
    x = leaf()
    _engine._drop_in_thread(x)
    assert x.requires_grad
    assert x.tolist() == [1.0, 1.0]


def test_dropping_what_is_no_tensor_is_refused() -> None:
    number: Any = 3
    with pytest.raises(TypeError, match="expected a Tensor, but got int"):
        _engine._drop_in_thread(number)


# --- dropped in a Python thread ---


@every_release
def test_context_dies_in_the_thread_that_drops_its_graph(profile: str) -> None:
    deaths: list[int] = []
    with torch.profile(profile):
        graphs = [with_canary(deaths).apply(leaf())]

    def drop() -> int:
        graphs.clear()
        return threading.get_ident()

    assert deaths == []
    assert in_threads(drop) == deaths


@every_release
def test_threads_that_build_run_and_drop_leave_nothing_and_get_right_gradients(profile: str) -> None:
    alive: list[weakref.ref[Any]] = []

    def work() -> list[float]:
        found = []
        with torch.profile(profile):
            function = doubling(save_input)
            for _ in range(25):
                x = leaf()
                y = function.apply(x)
                alive.append(weakref.ref(y.grad_fn))
                y.sum().backward()
                found += x.grad.tolist()
        return found

    with collector_off():
        assert in_threads(*[work] * 4) == [[2.0] * 50] * 4
        assert [ref for ref in alive if ref() is not None] == []


# --- carried, collected, and policies ---


@every_release
def test_context_carried_to_another_thread_is_the_one_its_backward_sees(profile: str) -> None:
    seen: list[tuple[str, int]] = []

    def note(ctx: Any) -> None:
        seen.append((ctx.note, threading.get_ident()))

    with torch.profile(profile):
        x = leaf()
        y = doubling(save_input, note).apply(x)
        in_threads(lambda: setattr(y.grad_fn, "note", "written there"))
        (runner,) = in_threads(lambda: (y.sum().backward(), threading.get_ident())[1])
        assert seen == [("written there", runner)]
        assert x.grad.tolist() == [2.0, 2.0]


@every_release
def test_collection_in_another_thread_leaves_a_graph_in_use_alone(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        s = (doubling(save_input).apply(x) * 3).sum()
        in_threads(*[gc.collect] * 2)
        s.backward()
        assert x.grad.tolist() == [6.0, 6.0]


def test_new_thread_starts_with_the_default_not_with_its_parents_profile() -> None:
    with torch.profile("torch-1.1"):
        assert in_threads(lambda: str(torch.current_profile())) == [DEFAULT]
        assert str(torch.current_profile()) == "torch-1.1"


def test_profile_of_a_thread_is_not_seen_by_another() -> None:
    barrier = threading.Barrier(3)

    def policy_of(name: str) -> str:
        with torch.profile(name):
            barrier.wait(900)
            y = doubling().apply(leaf())
            barrier.wait(900)
            assert torch.live_counts()["block"] == 1
            barrier.wait(900)
            del y
            return str(torch.current_profile())

    names = ["torch-1.1", "torch-1.2", "torch-2.13"]
    found = in_threads(*[lambda name=name: policy_of(name) for name in names])
    assert found == names
    assert torch.live_counts()["block"] == 0
    assert str(torch.current_profile()) == DEFAULT
