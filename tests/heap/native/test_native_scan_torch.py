"""The native scan in PyTorch's C++ objects: what holds is named even where nothing is known of their layout."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import leftovers
from gradlife import _heap
from gradlife.heap import refs, scan
from gradlife.heap.native_census import native_objects
from gradlife.heap.torch_layout import torch as calibration
from gradlife.model.trace import Confidence, Ledger
from python_versions import count_references
from scanned_things import Thing, believed, unmentioned

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="the native scan works on Linux"),
]


@pytest.fixture(params=["with a layout", "without a layout"])
def layout(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Run the test with and without a known layout of torch's objects."""
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
    assert holder.sureness is not Confidence.UNSURE
    return re.sub(r" \+\d+", "", holder.description)


@pytest.mark.whole
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


@pytest.mark.whole
def test_a_tensor_that_is_explained_has_no_sure_holder(layout: bool) -> None:
    """The result is the same with and without a known C++ object."""
    tensors = [torch.ones(2) for _ in range(200)]
    assert all(count_references(tensor) == 2 for tensor in tensors)
    for found in scan(tensors):
        assert [holder for holder in found if holder.sureness is Confidence.SURE] == []


def test_a_word_that_malloc_gave_a_node_beyond_its_own_is_no_sure_holder(layout: bool) -> None:
    """The result is the same with and without a known class: nothing is written there, so stale content is left."""
    tensor, result = torch.ones(2), leaf().sin()
    node = next(at for at in native_objects("torch::autograd::generated::SinBackward0"))
    last = ctypes.c_uint64.from_address(node + _heap._torch_block(node) - 8)
    before, last.value = last.value, id(tensor)
    try:
        found = scan([tensor])[0]
    finally:
        last.value = before
    assert [holder for holder in found if holder.sureness is Confidence.SURE] == []
    del result


def test_a_word_in_a_node_that_leads_to_what_only_its_wrapper_owns_is_no_holder(layout: bool) -> None:
    """A node has room for sizes that it does not use, where what was there before still stands."""
    [tensor], result = unmentioned(make=lambda: torch.ones(2)), leaf().sin()
    node = next(at for at in native_objects("torch::autograd::generated::SinBackward0"))
    implementation = ctypes.c_uint64.from_address(id(tensor) + 16).value
    unused = ctypes.c_uint64.from_address(node + _heap._torch_block(node) - 64)
    before, unused.value = unused.value, implementation
    try:
        found = scan([tensor])[0]
    finally:
        unused.value = before
    assert believed(found) == []
    del result


@pytest.mark.parametrize("words", [1, 4, 13])
def test_a_word_in_the_room_for_more_sizes_of_a_node_is_no_sure_holder(words: int) -> None:
    """One output of one dimension: there is room for five, and, where the layout says so, for another output."""
    calibration.ensure_calibrated()
    held, result = Thing(), leaf().sin()
    node = next(at for at in native_objects("torch::autograd::generated::SinBackward0"))
    inside = [at for at in range(0, 512, 8) if ctypes.c_uint64.from_address(node + at).value == node + at + 16]
    sizes = next(at for at in inside if ctypes.c_uint64.from_address(node + at + 8).value == (5 << 32) + 1)
    room = ctypes.c_uint64.from_address(node + sizes + 16 + 8 * words)
    before, room.value = room.value, id(held)
    try:
        found = scan([held])[0]
    finally:
        room.value = before
    assert [holder.sureness for holder in found if "SinBackward0" in holder.description] in ([], [Confidence.UNSURE])
    assert [holder for holder in found if holder.sureness is Confidence.SURE] == []
    del result


def run_alone(program: str) -> None:
    """In an interpreter of its own, whose memory has nothing of other tests."""
    path = os.pathsep.join([os.path.dirname(__file__), os.path.dirname(leftovers.__file__)])
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": path})


@pytest.mark.whole
def test_objects_of_the_whole_process_have_no_more_sure_holders_than_unexplained_references() -> None:
    """Words that own nothing are in every process. Libraries hold some lists natively, as numpy's functions do their loops."""
    run_alone("""
import asyncio, decimal, gc, logging, numpy, torch, unittest.mock, xml.etree.ElementTree
from gradlife import _heap
from gradlife.heap.torch_layout import torch as calibration
from gradlife.heap.scan import OWN_FOLDER, Confidence

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
gc.collect()
objects = [held for held in gc.get_objects() if type(held) in {list, dict, tuple, set}][::50][:200]
calibration.ensure_calibrated()
found = _heap.scan(objects, OWN_FOLDER)
sure = [sum(holder[-1] == Confidence.SURE.value for holder in holders) for _, _, holders in found]
unexplained = [references - known for references, known, _ in found]
more = [pair for pair in zip(sure, unexplained, strict=True) if pair[0] > pair[1]]
assert more == [], more
assert 0 in unexplained
""")


@pytest.mark.whole
def test_a_constant_of_a_frozen_graph_hangs_on_its_graph() -> None:
    run_alone("""
import gc, torch
from gradlife import _heap
from gradlife.heap.native_census import native_objects
from gradlife.heap.scan import scan_natives

def freeze():
    return torch.jit.freeze(torch.jit.trace(torch.nn.Linear(64, 64).eval(), torch.ones(2, 64)))

freeze()
gc.collect()
before = set(native_objects("c10::StorageImpl"))
freeze()
gc.collect()
constants = sorted(set(native_objects("c10::StorageImpl")) - before)
graph = _heap.walk()
assert [graph.find(address) for address in constants] == [None, None]
for holders in scan_natives(constants):
    paths = [holder.description for holder in holders]
    assert any(("Graph" in path or "Node" in path) and "TensorImpl" in path for path in paths), holders
""")


@pytest.mark.whole
def test_no_false_holder_in_a_process_that_trains() -> None:
    run_alone("""
import torch
model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(14400, 10))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 3, 32, 32)).sum().backward()
    optimizer.step()
import test_native_scan as here
from gradlife.heap import scan
assert [holders for holders in map(here.believed, scan(here.fully_explained())) if holders] == []
""")
