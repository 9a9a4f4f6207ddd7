"""What releases up to 2.10 do otherwise: simulated on the layout of the installed release, or shown by the engine."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import gradlife.engine as engine
from gradlife import _heap
from gradlife.heap import refs, snapshot
from gradlife.heap.torch_layout import torch as calibration
from gradlife.heap.torch_layout.fields import are_counts_coupled, find_layout
from gradlife.heap.torch_layout.labels import ITS_IMPL, ITS_WRAPPER
from gradlife.heap.torch_layout.specimens import Toys

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Held:
    """Takes weak references."""

    itself: Any
    held: Any


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def _calibrated_again() -> Iterator[None]:
    yield
    calibration._state.clear()
    calibration.ensure_calibrated()


# --- a wrapper that its C++ object took over when Python dropped it, up to 2.9 ---


@contextmanager
def taken_over(*wrappers: tuple[Any, str]) -> Iterator[None]:
    """Simulate 2.9 for these wrappers: the lowest bit of their address in the C++ object is set, and they do not own
    that object. Nothing may use them meanwhile.
    """
    layout = find_layout(Toys(torch))
    _heap._set_torch_layout({**layout, "are_counts_coupled": False})
    words = [ctypes.c_uint64.from_address(wrapper + layout[field]) for wrapper, field in wrappers]
    counts = [ctypes.c_uint32.from_address(wrapper + layout["count_in_target"]) for wrapper, _ in wrappers]
    for word, count in zip(words, counts, strict=True):
        word.value |= 1
        count.value -= 1
    try:
        yield
    finally:
        for word, count in zip(words, counts, strict=True):
            word.value &= ~1
            count.value += 1
        _heap._set_torch_layout(layout)


def references(shown: Any) -> dict[str, int]:
    return {label: address for label, _, _, address in _heap._torch_references(shown)}


def hidden_tensor() -> tuple[Any, list[weakref.ref[Any]]]:
    """Return a result that its successor's node saved, and what its attributes hold, and its storage's: garbage with it."""
    holder = Held()
    hidden = torch.ones(3, requires_grad=True).sin()
    hidden.note = Held()
    hidden.untyped_storage().note = Held()
    holder.itself, holder.held = holder, (hidden * hidden).sum()
    return hidden, [weakref.ref(hidden.note), weakref.ref(hidden.untyped_storage().note)]


@pytest.mark.usefixtures("_calibrated_again")
def test_a_wrapper_that_its_object_took_over_is_owned_by_it() -> None:
    tensor, storage = (toys := Toys(torch)).big, toys.big_storage
    impls = [tensor._cdata, storage._cdata]
    with taken_over((impls[0], "wrapper_in_impl"), (impls[1], "wrapper_in_storage")):
        assert [references(impl)[ITS_WRAPPER] for impl in impls] == [id(tensor), id(storage)]
        assert [references(wrapper)[ITS_IMPL] for wrapper in (tensor, storage)] == impls
    assert [ITS_WRAPPER in references(impl) for impl in impls] == [
        False,
        are_counts_coupled(torch),
    ]  # the storage has two owners


@pytest.mark.usefixtures("_calibrated_again")
def test_a_wrapper_that_its_object_took_over_does_not_keep_that_object() -> None:
    if not are_counts_coupled(torch):
        pytest.skip("this release does so itself")
    hidden, notes = hidden_tensor()
    impl, storage = hidden._cdata, hidden.untyped_storage()._cdata
    addresses = [id(note()) for note in notes]
    del hidden
    with taken_over((impl, "wrapper_in_impl"), (storage, "wrapper_in_storage")):
        judged = _heap.judge(addresses, None)
    assert [one[0] for one in judged if one is not None] == ["gc", "gc"]
    gc.collect()
    assert [note() for note in notes] == [None, None]


def test_what_hangs_on_a_tensor_goes_with_it() -> None:
    calibration.ensure_calibrated()
    hidden, notes = hidden_tensor()
    addresses = [id(note()) for note in notes]
    del hidden
    assert [one[0] for one in _heap.judge(addresses, None) if one is not None] == ["gc", "gc"]
    gc.collect()
    assert [note() for note in notes] == [None, None]


# --- the owners of a C++ object that takes its wrapper over only when Python drops it ---


@pytest.mark.parametrize("profile", ["torch-2.9", "torch-2.10", "torch-2.13"])
def test_owners_of_a_tensor_whose_wrapper_python_keeps_are_reported(profile: str) -> None:
    with engine.profile(profile):
        leaf = engine.ones(3, requires_grad=True)
        made = leaf * 2
        found = refs(leaf).behind
        assert found is not None
        assert [(one.object, one.via) for one in found.referrers] == [("AccumulateGrad", "variable")]
        assert found.count == 1
        assert refs(engine.ones(3)).behind is None
        del made


# --- what an object refers to that no C++ object refers to ---


def test_a_saved_tensor_that_python_holds_has_a_name_beside_the_path_to_it() -> None:
    make = getattr(torch._C._autograd, "_make_saved_tensor", None)
    if make is None:
        pytest.skip("checkpoints keep inputs in a ctx")
    kept: Any = torch.ones(3, requires_grad=True)
    saved = [make(kept, is_output=False)]
    behind = snapshot().why(id(kept)).ledger.behind
    assert behind is not None
    assert [(one.object, one.via) for one in behind.referrers] == [("SavedTensor", "saved tensor")]
    del saved
