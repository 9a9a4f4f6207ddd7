"""Contexts and tensors brought back to life by a finaliser or a callback, while they are being destroyed."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife._engine import TensorBase
from lifetimes import (
    EVERY_PROFILE,
    RELEASES,
    Canary,
    collector_off,
    doubling,
    failure,
    leaf,
    save_input,
    unraisable_errors,
)

pytestmark = pytest.mark.valgrind

every_profile = pytest.mark.parametrize("profile", EVERY_PROFILE)
every_release = pytest.mark.parametrize("profile", RELEASES)


@pytest.mark.parametrize(
    ("profile", "nexts"), [("torch-1.1", 1), ("torch-1.2", None), ("torch-1.10", None), ("torch-2.13", 1)]
)
def test_context_brought_back_by_its_finaliser_is_whole_or_a_shell(profile: str, nexts: int | None) -> None:
    saved: list[Any] = []
    function = doubling(save_input)
    function._backward_cls.__del__ = lambda context: saved.append(context)
    with torch.profile(profile), collector_off(), unraisable_errors() as errors:
        before = torch.live_counts()
        y = function.apply(leaf())
        del y
        assert len(saved) == 1
        if nexts is None:
            assert failure(lambda: saved[0].next_functions).startswith("RuntimeError: ")
        else:
            assert len(saved[0].next_functions) == nexts
            assert len(saved[0].saved_tensors) == 1
        saved.clear()
        assert torch.live_counts() == before
        assert errors == []


@every_release
def test_context_brought_back_inside_a_collection_keeps_its_attributes(profile: str) -> None:
    saved: list[Any] = []
    with torch.profile(profile), collector_off(), unraisable_errors() as errors:
        y = doubling(save_input).apply(leaf())
        fn = y.grad_fn
        fn.itself, fn.canary = fn, Canary(lambda fn=fn: saved.append(fn))  # type: ignore[misc]
        del y, fn
        gc.collect()
        (context,) = saved
        assert context.itself is context
        assert context.needs_input_grad == (True,)
        saved.clear()
        context.__dict__.clear()
        del context
        gc.collect()
        assert torch.live_counts()["context"] == 0
        assert errors == []


@every_profile
def test_tensor_brought_back_by_its_finaliser_is_whole_and_finalised_once(profile: str) -> None:
    saved: list[Any] = []

    class Phoenix(torch.Tensor):
        def __del__(self) -> None:
            saved.append(self)

    with torch.profile(profile), collector_off():
        before = torch.live_counts()
        t: Any = TensorBase.as_subclass(torch.ones(2), Phoenix)
        del t
        assert saved[0].tolist() == [1.0, 1.0]
        assert type(saved[0]) is Phoenix
        saved.clear()
        assert saved == []
        assert torch.live_counts() == before


@pytest.mark.parametrize("profile", [name for name in EVERY_PROFILE if not name.startswith("oneflow")])
def test_callback_of_a_dying_wrapper_may_ask_for_it_again(profile: str) -> None:
    found: list[Any] = []
    with torch.profile(profile), collector_off():
        x = leaf()
        x.grad = torch.ones(2)
        ref = weakref.ref(x.grad, lambda ref: found.append(x.grad))
        if found:
            assert found[0].tolist() == [1.0, 1.0]
        else:
            x.grad = None
            assert found == [None]
        del ref
