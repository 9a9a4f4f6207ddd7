"""The census of PyTorch's C++ objects: exact where nothing in Python knows of them, too."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from typing import Any

import pytest

from gradlife import _heap
from gradlife.heap.native_census import NativeCensus, native_census, native_objects

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.whole,
    pytest.mark.scan,
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="the census works on Linux"),
]

FAMILIES = ("tensor", "storage", "grad_node", "autograd_meta")


def grown(before: NativeCensus) -> dict[str, int]:
    """By how much each family has grown since."""
    after = native_census()
    return {family: after.count(family) - before.count(family) for family in FAMILIES}


def settled() -> NativeCensus:
    gc.collect()
    native_census()
    return native_census()


NOTHING = dict.fromkeys(FAMILIES, 0)


def test_tensors_and_storages() -> None:
    before = settled()
    kept = [torch.ones(3) for _ in range(1000)]
    assert grown(before) == {**NOTHING, "tensor": 1000, "storage": 1000}
    views = [tensor[1:] for tensor in kept]
    assert grown(before)["storage"] == 1000
    assert grown(before)["tensor"] == 2000
    del kept, views
    assert grown(before) == NOTHING


def test_storages_of_wrapper_subclasses_count_and_have_no_memory() -> None:
    class Wrapper(torch.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_dispatch__(cls, *_: Any) -> Any:
            raise NotImplementedError

    _, before, _ = _heap.native_counts(False)
    kept = [torch.Tensor._make_wrapper_subclass(Wrapper, (1 << 30,), dtype=torch.float32) for _ in range(3)]
    families, after, _ = _heap.native_counts(False)
    assert after == before
    assert families["storage"] >= len(kept)


def test_counts_by_family_are_those_of_the_classes() -> None:
    before, nbytes, _ = _heap.native_counts(False)
    kept = [torch.ones(3, requires_grad=True).sin() for _ in range(200)]
    after, more_bytes, lost = _heap.native_counts(False)
    assert lost == 0
    assert {name: after[name] - before.get(name, 0) for name in NOTHING} == {
        "tensor": 400,
        "storage": 400,
        "grad_node": 400,
        "autograd_meta": 400,
    }
    assert more_bytes - nbytes == 400 * 12
    del kept


def test_nodes_by_class() -> None:
    x = torch.ones(3, requires_grad=True)
    x.sin().sum().backward()
    before = settled()
    kept = [(x.sin() * x).exp() for _ in range(500)]
    after = native_census()
    for name in ("SinBackward0", "MulBackward0", "ExpBackward0"):
        full_name = f"torch::autograd::generated::{name}"
        assert after.count_of(full_name) - before.count_of(full_name) == 500
    del kept
    assert grown(before) == {**NOTHING, "grad_node": 0}


def test_custom_functions() -> None:
    class Twice(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = torch.ones(3, requires_grad=True)
    Twice.apply(x)
    before = settled()
    kept = [Twice.apply(x) for _ in range(300)]
    assert native_census().count_of("torch::autograd::PyNode") - before.count_of("torch::autograd::PyNode") == 300
    del kept
    gc.collect()
    assert grown(before) == NOTHING


def test_storages_of_large_tensors_are_counted_once_with_their_bytes() -> None:
    def cpu() -> tuple[int, int]:
        rows = {row.device: (row.count, row.bytes) for row in native_census().storages}
        return rows.get("cpu", (0, 0))

    settled()
    count, nbytes = cpu()
    kept = [torch.empty(1_000_003) for _ in range(20)]
    views = [tensor[1:] for tensor in kept]
    assert cpu() == (count + 20, nbytes + 20 * 4_000_012)
    del kept, views
    assert cpu() == (count, nbytes)


def test_storages_of_other_devices_have_their_own_row() -> None:
    def on_meta() -> tuple[int, int]:
        rows = {row.device: (row.count, row.bytes) for row in native_census().storages}
        return rows.get("meta", (0, 0))

    settled()
    count, nbytes = on_meta()
    kept = torch.empty(100, device="meta")
    assert on_meta() == (count + 1, nbytes + 400)
    del kept
    assert on_meta() == (count, nbytes)


def test_a_storage_that_only_weak_pointers_know_is_gone() -> None:
    before = settled()
    weak = [torch.ones(5).untyped_storage()._weak_ref() for _ in range(100)]
    assert grown(before) == NOTHING
    for reference in weak:
        torch.UntypedStorage._free_weak_ref(reference)
    assert grown(before) == NOTHING


def test_tensors_made_by_other_threads() -> None:
    kept: list[Any] = []
    before = settled()

    def work() -> None:
        kept.extend(torch.ones(7) + i for i in range(250))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert grown(before) == {**NOTHING, "tensor": 1000, "storage": 1000}
    kept.clear()
    assert grown(before) == NOTHING


def test_an_arenas_own_words_that_look_like_the_size_of_a_chunk_hide_no_tensors() -> None:
    """malloc's map of bins, read as a size, may lead to a later chunk: what lies before it was not counted."""
    malloc = ctypes.CDLL(None).malloc
    malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    kept: list[Any] = []
    arenas: list[int] = []
    before = settled()

    def work() -> None:
        kept.extend([torch.ones(7) for _ in range(250)])
        heap = malloc(2_000) >> 26 << 26
        arenas.append(ctypes.c_uint64.from_address(heap).value)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    [arena] = arenas
    bins = ctypes.c_uint64.from_address(arena + 0x868)
    as_it_was = bins.value
    bins.value = kept[100]._cdata - 16 - (arena + 0x860)
    counted = grown(before)
    bins.value = as_it_was
    assert counted == {**NOTHING, "tensor": 250, "storage": 250}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_constants_of_frozen_graphs_which_no_python_object_shows() -> None:
    def freeze() -> Any:
        return torch.jit.freeze(torch.jit.trace(torch.nn.Linear(64, 64).eval(), torch.ones(2, 64)))

    for _ in range(3):
        freeze()
    before = settled()
    for _ in range(5):
        freeze()
    gc.collect()
    assert grown(before)["storage"] == 10
    graphs = "torch::jit::Graph"
    assert native_census().count_of(graphs) > before.count_of(graphs)


def test_addresses_are_those_of_the_heap_graph() -> None:
    settled()
    name = "torch::autograd::generated::SinBackward0"
    before = set(native_objects(name))
    kept = [torch.ones(3, requires_grad=True).sin() for _ in range(10)]
    nodes = set(native_objects(name)) - before
    assert len(nodes) == 10
    graph = _heap.walk()
    assert all(graph.find(address) is not None for address in nodes)
    assert {tensor._cdata for tensor in kept} <= set(native_objects("c10::TensorImpl"))
