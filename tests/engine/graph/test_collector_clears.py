"""Contexts destroyed inside a collection, or in the middle of a clear, and what may look at them meanwhile."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch
from leftovers import leaves, run_in_child
from lifetimes import (
    EVERY_PROFILE,
    RELEASES,
    Canary,
    Watched,
    collector_off,
    doubling,
    keep_output,
    leaf,
    nothing,
    save_input,
    unraisable_errors,
    verdict,
)

pytestmark = pytest.mark.valgrind

every_profile = pytest.mark.parametrize("profile", EVERY_PROFILE)
every_release = pytest.mark.parametrize("profile", RELEASES)


@every_release
def test_function_constructed_and_never_applied_is_destroyed_inside_a_collection(profile: str) -> None:
    with torch.profile(profile), collector_off(), unraisable_errors() as errors:
        context = doubling()._backward_cls()
        context.itself = context
        alive = weakref.ref(context)
        del context
        assert alive() is not None
        gc.collect()
        assert alive() is None
        assert errors == []


@leaves(context=1)
def test_context_of_oneflow_that_holds_itself_is_unknown_to_the_collector() -> None:
    def build() -> Watched:
        context = doubling()._backward_cls()
        context.itself = context
        return None, weakref.ref(context)

    with torch.profile("oneflow-0.9"):
        assert verdict(build) == "never"


@every_profile
def test_function_constructed_and_never_applied_goes_with_its_name(profile: str) -> None:
    with torch.profile(profile), collector_off():
        context = doubling()._backward_cls()
        assert torch.live_counts()["context"] == 1
        del context
        assert torch.live_counts()["context"] == 0
        assert torch.live_counts()["node"] == 0


@every_release
def test_context_whose_destructor_collects_is_destroyed_whole(profile: str) -> None:
    with torch.profile(profile), unraisable_errors() as errors:
        for _ in range(10):
            y = doubling(lambda ctx, x, y: setattr(ctx, "canary", Canary(lambda: nothing(gc.collect())))).apply(leaf())
            y.sum().backward()
            del y
        assert errors == []


@pytest.mark.parametrize("profile", ["torch-1.10", "torch-2.13"])
def test_cycle_through_output_and_context_leaves_nothing_unraisable(profile: str) -> None:
    with torch.profile(profile), collector_off(), unraisable_errors() as errors:
        for _ in range(3):
            y = doubling(keep_output).apply(leaf())
            y.grad_fn.register_hook(nothing)
            y.grad_fn.metadata["canary"] = Canary()
            del y
        assert torch.live_counts()["context"] == 3
        gc.collect()
        assert torch.live_counts()["context"] == 0
        assert errors == []


class Spy:
    """Unknown to the collector, so its `__del__` runs in the middle of a clear; reads the context by its address."""

    __slots__ = ()
    address = 0
    seen: list[dict[str, Any]] = []

    def __call__(self, *ignored: Any) -> None:
        pass

    def __del__(self) -> None:
        context = ctypes.cast(Spy.address, ctypes.py_object).value
        Spy.seen.append({name: look(context) for name, look in LOOKS.items()})


def guarded(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def look(context: Any) -> Any:
        try:
            return read(context)
        except (AttributeError, RuntimeError) as error:
            return type(error).__name__

    return look


LOOKS = {
    "needs_input_grad": guarded(lambda ctx: ctx.needs_input_grad),
    "note": guarded(lambda ctx: ctx.note),
    "dict": guarded(lambda ctx: sorted(ctx.__dict__)),
    "saved_tensors": guarded(lambda ctx: len(ctx.saved_tensors)),
    "next_functions": guarded(lambda ctx: len(ctx.next_functions)),
    "metadata": guarded(lambda ctx: ctx.metadata),
    "to_save": guarded(lambda ctx: ctx.to_save),
}


@pytest.mark.parametrize("profile", ["torch-1.1", "torch-2.13"])
def test_hook_reads_its_half_deleted_context_during_clear(profile: str) -> None:
    Spy.seen.clear()
    with torch.profile(profile), collector_off(), unraisable_errors() as errors:
        y = doubling(save_input).apply(leaf())
        fn = y.grad_fn
        fn.itself, fn.note = fn, "whole"
        fn.register_hook(Spy())
        Spy.address = id(fn)
        del y, fn
        assert Spy.seen == []
        gc.collect()
        assert errors == []
    (seen,) = Spy.seen
    # every field is either whole or gone; the hooks go first
    assert seen["needs_input_grad"] in ((True,), None)
    assert seen["note"] in ("whole", "AttributeError")
    assert (seen["saved_tensors"], seen["next_functions"], seen["metadata"]) == (1, 1, {})
    assert seen["to_save"] is None


@every_release
def test_object_on_a_context_reads_it_while_its_dict_is_cleared(profile: str) -> None:
    Spy.seen.clear()
    with torch.profile(profile), collector_off(), unraisable_errors() as errors:
        context = doubling()._backward_cls()
        context.itself, context.spy, context.note = context, Spy(), "whole"
        Spy.address = id(context)
        del context
        gc.collect()
        assert errors == []
    assert len(Spy.seen) == 1
    assert Spy.seen[0]["note"] in ("whole", "AttributeError")


# --- the invariant that the deleter checks: a context outlives the node that owns it ---


@pytest.mark.parametrize("profile", ["torch-1.2", "torch-1.10"])
def test_invariant_holds_through_every_way_to_die(profile: str) -> None:
    with torch.profile(profile), unraisable_errors() as errors:
        for ending in ("output first", "grad_fn first", "backward", "hook", "cycle"):
            y = doubling(save_input).apply(leaf())
            fn = y.grad_fn
            if ending == "backward":
                y.sum().backward()
            if ending == "hook":
                fn.register_hook(lambda *ignored, fn=fn: nothing(fn))
            if ending == "cycle":
                fn.itself = fn
            if ending == "output first":
                del y
            fn = y = None
            gc.collect()
        assert errors == []
        assert torch.live_counts()["context"] == 0


KEPT: list[Any] = []


def drop_one_reference_too_many() -> list[str]:
    gc.disable()
    with torch.profile("torch-1.2"), unraisable_errors() as errors:
        y = doubling().apply(leaf())
        KEPT.append(y)
        address = id(y.grad_fn)
        ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(address))
    return errors


def test_context_deleted_under_its_living_node_is_named_by_the_deleter() -> None:
    assert run_in_child(drop_one_reference_too_many) == [
        "a context is being deleted while its node, which owns it, is alive"
    ]


def test_ordered_dict_is_what_hooks_are_kept_in() -> None:
    y = leaf() * 2
    y.register_hook(nothing)
    assert type(y._backward_hooks) is OrderedDict
