"""Objects that only native objects keep: nothing in Python leads to them, and the graph has them if asked to."""

from __future__ import annotations

import ctypes
import gc
import os
import tempfile
import warnings
import weakref
from typing import Any

import pytest

import gradlife.engine as engine
from gradlife import _heap
from gradlife.heap import open_snapshot, refs, snapshot, why
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.model.trace import Lifetime
from leftovers import run_in_child

numpy: Any = pytest.importorskip("numpy")

NATIVE = {"tensor", "storage", "grad_node"}
#: Releases in which the wrappers of a gradient's graph die, and those in which C++ keeps the leaf's.
WITHOUT_WRAPPERS = ["torch-1.1", "torch-1.2", "torch-1.8", "torch-1.9", "oneflow-0.8"]
WITH_WRAPPERS = ["torch-1.10", "torch-2.9", "torch-2.13"]


class Named(numpy.ndarray):  # type: ignore[misc]
    """Takes weak references."""


def ring(fw: Any) -> Any:
    """An array that a leaf uses the memory of; the leaf's gradient has a graph, which leads to the leaf."""
    memory = numpy.ones(4, dtype=numpy.float32).view(Named)
    x = fw.from_numpy(memory).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x * x * x).sum().backward(create_graph=True)
    return weakref.ref(memory)


def count_of_natives(taken: Any) -> int:
    return sum(row.count for row in taken.types() if row.kind in NATIVE)


def story_of_ring(profile: str) -> dict[str, Any]:
    with engine.profile(profile):
        reference = ring(engine)
        gc.collect()
        judged = _heap.judge([id(reference())], None)[0]
        trace = why(reference())
        ledger = refs(reference())
        plain, whole = snapshot(), snapshot(native=True)
        with tempfile.TemporaryDirectory() as folder:
            whole.save(os.path.join(folder, "heap.glheap"))
            again = open_snapshot(os.path.join(folder, "heap.glheap")).why(id(reference()))
    return {
        "judged": judged and judged[0],
        "lifetime": trace.lifetime,
        "cycle": [step.object for step in trace.cycle],
        "tail": [(step.object, step.via) for step in trace.tail],
        "unaccounted": ledger.unaccounted,
        "kept": (again.lifetime, [step.object for step in again.cycle]),
        "natives": (count_of_natives(plain), count_of_natives(whole)),
        "cycles": [cycle.lifetime for cycle in whole.cycles(100) if cycle.has_native][:1],
    }


@pytest.mark.whole
@pytest.mark.parametrize("profile", [*WITHOUT_WRAPPERS, *WITH_WRAPPERS])
def test_ring_of_native_objects_is_named_as_what_keeps_an_array(profile: str) -> None:
    result = run_in_child(story_of_ring, profile)
    assert result["judged"] == "never"
    assert result["lifetime"] is Lifetime.NEVER
    assert len(result["cycle"]) > 3
    assert result["cycle"][:2] == ["Tensor", "Tensor"]
    assert result["tail"] == [("Tensor", "its storage uses the memory of"), ("Named", "")]
    assert result["unaccounted"] == 0
    assert result["kept"] == (Lifetime.NEVER, result["cycle"])
    assert result["cycles"] == [Lifetime.NEVER]
    plain, whole = result["natives"]
    if profile in WITHOUT_WRAPPERS:  # nothing leads to them: they are there only where asked for
        assert whole - plain > 10  # other tests may have left some that Python leads to


@pytest.mark.whole
def test_natives_that_python_reaches_are_the_same_with_those_that_it_does_not() -> None:
    x = engine.ones(3, requires_grad=True)
    kept = (x * x).sum()
    plain, whole = snapshot(), snapshot(native=True)
    assert 5 < count_of_natives(plain) <= count_of_natives(whole)  # other tests may have left some
    del kept


# --- PyTorch ---


@pytest.mark.torch
@pytest.mark.filterwarnings(
    "ignore:Deallocating Tensor that still has live"
)  # up to 2.9, of a tensor of the collector's
def test_ring_in_torch_is_named_as_what_keeps_an_array() -> None:
    torch = pytest.importorskip("torch")
    reference = ring(torch)
    gc.collect()
    trace = why(reference())
    assert trace.lifetime is Lifetime.NEVER
    names = [step.object for step in trace.cycle]
    assert {"TensorImpl", "CopyBackwards"} <= set(names)
    first, last = trace.tail
    assert first.object in {"Tensor", "TensorImpl"}
    assert [first.via, last.object, last.via] == ["its storage uses the memory of", "Named", ""]
    tensors = [one for one in gc.get_objects() if type(one) is torch.Tensor]
    [leaf] = [one for one in tensors if one.is_leaf and one.data_ptr() == reference().ctypes.data]
    del tensors
    leaf.grad = None
    del leaf
    assert reference() is None


@pytest.mark.torch
@pytest.mark.parametrize("owners", [0, 1])
def test_tensor_with_an_owner_that_nobody_knows_is_never_freed(owners: int) -> None:
    """Beside owners that are known, and go: the collector would free it, were it not for the one in C++."""
    torch: Any = pytest.importorskip("torch")
    ensure_calibrated()
    kept: Any = torch.ones(2, requires_grad=True).exp()
    other: Any = kept.sin()
    kept.itself, other.itself = kept, other
    count = ctypes.c_uint32.from_address(kept._cdata + 8)
    reference = weakref.ref(kept)
    del kept, other
    count.value += owners
    try:
        judged = _heap.judge([id(reference())], None)[0]
    finally:
        count.value -= owners
    assert judged is not None
    assert judged[0] == ("never" if owners else "gc")
    gc.collect()
    gc.collect()
    assert reference() is None


@pytest.mark.torch
@pytest.mark.scan
def test_torch_counts_the_owners_that_the_graph_shows() -> None:
    torch = pytest.importorskip("torch")
    ensure_calibrated()
    x = torch.ones(3, requires_grad=True)
    y = (x.sin() * x).view(3, 1)
    kept = [y, y.detach(), y.sum(), torch.stack([x, x]).unbind(0), torch.from_numpy(numpy.ones(3))]
    graph = snapshot(native=True)._graph
    counts = [graph.explain(node) for tensor in kept[:3] for node in [graph.find(tensor._cdata)] if node is not None]
    assert [result["references"] - result["referrer_count"] for result in counts] == [0, 0, 0]
