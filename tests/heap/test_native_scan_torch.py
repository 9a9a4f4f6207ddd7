"""The native scan in PyTorch's C++ objects: what holds is named even where nothing is known of their layout."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from gradlife import _heap
from gradlife.heap import refs, scan
from gradlife.heap import torch as calibration
from gradlife.model.trace import Ledger, Sureness

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="the native scan works on Linux"),
]


class Thing:
    """Something to hold."""


@pytest.fixture(params=["with a layout", "without a layout"])
def layout(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether the walk knows torch's objects."""
    calibration.ensure_calibrated()
    is_known = request.param == "with a layout"
    if not is_known:
        _heap._set_torch_layout(None)
    yield is_known
    calibration._state.clear()
    calibration.ensure_calibrated()


@pytest.fixture
def unknown_layout() -> Iterator[None]:
    calibration.ensure_calibrated()
    _heap._set_torch_layout(None)
    yield
    calibration._state.clear()
    calibration.ensure_calibrated()


def leaf() -> Any:
    return torch.ones(3, requires_grad=True)


def the_holder(ledger: Ledger) -> str:
    """The only one, without its offsets, which differ from release to release."""
    [holder] = ledger.native
    assert holder.kind == "object"
    assert holder.sureness is not Sureness.UNSURE
    return re.sub(r" \+\d+", "", holder.description)


def test_a_hooks_dict_stands_under_its_node(unknown_layout: None) -> None:
    result = leaf().sin()
    handle = result.grad_fn.register_hook(lambda *_: None)
    ledger = refs(handle.hooks_dict_ref(), scan=True)
    assert ledger.unaccounted == 1
    assert the_holder(ledger).endswith("SinBackward0 → std::vector[0] → PyFunctionPostHook")
    assert ledger.unexplained == 0


def test_packed_data_stand_under_their_saved_variable(unknown_layout: None) -> None:
    packed, x = Thing(), leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda _: packed, lambda _: x):
        result = x.sin()
    ledger = refs(packed, scan=True)
    assert result.grad_fn is not None
    assert ledger.unaccounted == 1
    assert the_holder(ledger).endswith("SinBackward0 → PySavedVariableHooks")
    assert ledger.unexplained == 0


def test_with_a_layout_the_graph_explains_both() -> None:
    packed, x = Thing(), leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda _: packed, lambda _: x):
        result = x.sin()
    handle = result.grad_fn.register_hook(lambda *_: None)
    assert refs(packed, scan=True).unaccounted == 0
    assert refs(handle.hooks_dict_ref(), scan=True).unaccounted == 0


def test_a_tensor_that_is_explained_has_no_sure_holder(layout: bool) -> None:
    """Whether or not its C++ object is known."""
    tensors = [torch.ones(2) for _ in range(200)]
    assert all(sys.getrefcount(tensor) == 3 for tensor in tensors)
    for found in scan(tensors):
        assert [holder for holder in found if holder.sureness is Sureness.SURE] == []


def test_no_sure_holder_among_objects_of_the_whole_process() -> None:
    """Words that own nothing are in every process; the ledger names none where the count is explained."""
    gc.collect()
    objects = [held for held in gc.get_objects() if type(held) in {list, dict, tuple, set}][::50][:200]
    for held, found in zip(objects, scan(objects), strict=True):
        assert not [holder for holder in found if holder.sureness is Sureness.SURE], type(held)
